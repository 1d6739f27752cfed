"""Run by Alembic: migrate over the connection of the caller."""

from alembic import context

if hasattr(context, "config"):  # Alembic runs it; otherwise it was only imported
    context.configure(connection=context.config.attributes["connection"])
    context.run_migrations()
