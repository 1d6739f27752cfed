"""Client of the decision service."""
