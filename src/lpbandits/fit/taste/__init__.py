"""Taste models: estimate item means and factors from ratings, and choose their number on held-out people."""
