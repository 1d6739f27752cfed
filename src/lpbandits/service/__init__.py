"""The decision service: ask and tell over HTTP, with every fact stored and every decision repeatable.

`api` has the HTTP routes, `requests` what a write does, `history` how a belief follows from facts, and `store` the
database.
"""
