"""Views: what the product shows of a comparison, a model and a bound: charts, tables, HTML reports."""
