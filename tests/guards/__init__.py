"""What guards of the cost need: a way through the whole library, counted operations and counted allocations."""
