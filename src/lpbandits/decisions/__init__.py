"""Next actions for a table of people: histories in, decisions with probabilities and expected rewards out."""
