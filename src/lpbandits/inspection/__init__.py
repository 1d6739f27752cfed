"""Summaries of a model: its states, their uncertainty and differences, and the most informative questions."""
