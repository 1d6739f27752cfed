"""The database of the service: append-only tables, one writer, read-only connections."""
