"""Reproduction of the paper: figures, claims and the MovieLens protocol."""
