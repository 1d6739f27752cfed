"""The paper: its figures, its claims, its MovieLens task, and the command that runs them all again."""

from lpbandits.io.paths import ensure_home

ensure_home()  # before altair is imported
