"""Helpers of the cost guards: a tour of the library, counted operations and counted allocations."""
