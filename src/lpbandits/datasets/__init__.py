"""Public and generated data sets."""
