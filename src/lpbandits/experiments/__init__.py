"""Experiments: charts, reports, and the runs behind them."""
