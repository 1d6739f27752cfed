"""Datasets to try the package on: an installed MovieLens, and a generated example. Your own logs: `lpbandits.data`."""
