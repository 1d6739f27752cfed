"""Studies: long simulations that maintainers run after a change of a statistical rule; no test runs them."""
