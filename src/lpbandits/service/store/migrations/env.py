"""Run by Alembic: migrate over the connection of the caller."""

from alembic import context

context.configure(connection=context.config.attributes["connection"])
context.run_migrations()
