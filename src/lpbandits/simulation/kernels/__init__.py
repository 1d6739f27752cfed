"""Compiled code of the simulator."""
