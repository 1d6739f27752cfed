"""Real people: whether policies help those of a log, and what to give everybody next."""
