"""Fuzz tests: hostile input for every public entry point.

An example is a line of Python source, evaluated with `values.NAMES`, so that it prints, shrinks and can be stored as
text. `corpus/TARGET.txt` holds examples that once failed. `make fuzz` runs the same targets with 20,000 examples.
"""
