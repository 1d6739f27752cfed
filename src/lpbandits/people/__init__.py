"""Tables with one row per person: priors over the states, and covariates."""
