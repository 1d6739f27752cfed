"""Compiled code of batch decisions."""
