"""The paper: its figures, its claims, its MovieLens task, and the command that runs them all again."""
