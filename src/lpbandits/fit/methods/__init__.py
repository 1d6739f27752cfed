"""The methods of a fit: clusters of people, mixtures, and what they share."""
