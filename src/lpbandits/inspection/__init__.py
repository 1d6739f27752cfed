"""What a model says: its states, how certain they are, how they differ and what to ask next."""
