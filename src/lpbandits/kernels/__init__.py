"""Compiled code that several folders use: arrays in, arrays out, no checks. Only kernels import numba."""
