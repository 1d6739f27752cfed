"""Faults put into the sources, one at a time: do the tests notice? See __main__."""
