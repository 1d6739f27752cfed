"""Compiled code of the fit."""
