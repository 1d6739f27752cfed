"""Altair charts of comparisons, bounds, evaluations and models."""
