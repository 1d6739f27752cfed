"""Compiled code: arrays in, arrays out, no checks. Nothing outside this package imports numba."""
