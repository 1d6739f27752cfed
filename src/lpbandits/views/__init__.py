"""Views: what the product shows of a comparison, a model and a bound: charts, tables, HTML reports."""

from lpbandits.io.paths import ensure_home

ensure_home()  # before altair is imported
