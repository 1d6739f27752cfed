"""The HTTP API, version 1: one file per group of routes."""
