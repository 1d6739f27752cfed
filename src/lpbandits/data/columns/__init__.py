"""Columns of a table: options that name them, roles by name, and conversion of their cells."""
