"""Compiled loops of the fit."""
