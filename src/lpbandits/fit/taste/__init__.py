"""Taste: how preferences vary continuously between people."""
