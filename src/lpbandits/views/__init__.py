"""Charts, tables and HTML reports of simulations, bounds, models and evaluations."""
