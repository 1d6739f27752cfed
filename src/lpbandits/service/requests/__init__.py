"""What each kind of write does: one file per kind, run by the writer."""
