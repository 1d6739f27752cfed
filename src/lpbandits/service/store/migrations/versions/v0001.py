"""First tables."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None

Id = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    """Create all tables."""
    if op.get_bind().dialect.supports_sequences:
        op.execute(sa.schema.CreateSequence(sa.Sequence("person_ids")))
    op.create_table(
        "configurations",
        sa.Column("project_id", Id, nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("content", sa.Text(), nullable=False),
        sa.Column("model_sha256", sa.Text(), nullable=True),
        sa.Column("reason", sa.Text(), nullable=True),
        sa.Column("deviation", sa.Boolean(), nullable=False),
        sa.Column("key_id", Id, nullable=True),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("project_id", "version"),
    )
    op.create_table(
        "corrections",
        sa.Column("person_id", Id, nullable=False),
        sa.Column("n", sa.Integer(), nullable=False),
        sa.Column("outcome", sa.Integer(), nullable=False),
        sa.Column("action", sa.Text(), nullable=True),
        sa.Column("reward", sa.Double(), nullable=True),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("key_id", Id, nullable=True),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("person_id", "n"),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "decisions",
        sa.Column("person_id", Id, nullable=False),
        sa.Column("n", sa.Integer(), nullable=False),
        sa.Column("asked", sa.BigInteger(), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("allowed", sa.Text(), nullable=True),
        sa.Column("action", sa.Text(), nullable=False),
        sa.Column("returned", sa.Text(), nullable=True),
        sa.Column("positive", sa.Text(), nullable=True),
        sa.Column("schedule", sa.Integer(), nullable=True),
        sa.Column("library", sa.Text(), nullable=False),
        sa.Column("key_id", Id, nullable=True),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("person_id", "n"),
        sa.UniqueConstraint("person_id", "asked"),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "keys",
        sa.Column("id", Id, nullable=False),
        sa.Column("hash", sa.LargeBinary(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("role", sa.Text(), nullable=False),
        sa.Column("project", sa.Text(), nullable=True),
        sa.Column("expires_at", sa.BigInteger(), nullable=True),
        sa.Column("created_by", Id, nullable=True),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("hash"),
    )
    op.create_table(
        "models",
        sa.Column("sha256", sa.Text(), nullable=False),
        sa.Column("content", sa.Text(), nullable=False),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("sha256"),
    )
    op.create_table(
        "outcomes",
        sa.Column("person_id", Id, nullable=False),
        sa.Column("n", sa.Integer(), nullable=False),
        sa.Column("asked", sa.BigInteger(), nullable=True),
        sa.Column("action", sa.Text(), nullable=False),
        sa.Column("reward", sa.Double(), nullable=True),
        sa.Column("occurred_at", sa.BigInteger(), nullable=True),
        sa.Column("key_id", Id, nullable=True),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("person_id", "n"),
        sqlite_with_rowid=False,
    )
    op.create_index("outcomes_asked", "outcomes", ["person_id", "asked"], unique=False)
    op.create_table(
        "people",
        sa.Column("id", Id, autoincrement=False, nullable=False),
        sa.Column("project_id", Id, nullable=False),
        sa.Column("label", sa.Text(), nullable=False),
        sa.Column("holdout", sa.Boolean(), nullable=False),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("project_id", "label"),
    )
    op.create_table(
        "projects",
        sa.Column("id", Id, nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("name"),
    )
    op.create_table(
        "requests",
        sa.Column("project_id", Id, nullable=False),
        sa.Column("key", sa.Text(), nullable=False),
        sa.Column("digest", sa.LargeBinary(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("person_id", Id, nullable=True),
        sa.Column("facts", sa.Text(), nullable=False),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("project_id", "key"),
        sqlite_with_rowid=False,
    )
    op.create_index("requests_person", "requests", ["person_id"], unique=False)
    op.create_table(
        "revocations",
        sa.Column("key_id", Id, autoincrement=False, nullable=False),
        sa.Column("revoked_by", Id, nullable=True),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("key_id"),
    )
    op.create_table(
        "snapshots",
        sa.Column("person_id", Id, autoincrement=False, nullable=False),
        sa.Column("n", sa.Integer(), nullable=False),
        sa.Column("asked", sa.BigInteger(), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("belief", sa.LargeBinary(), nullable=True),
        sa.PrimaryKeyConstraint("person_id"),
    )
    op.create_table(
        "starts",
        sa.Column("person_id", Id, nullable=False),
        sa.Column("n", sa.Integer(), nullable=False),
        sa.Column("prior", sa.Text(), nullable=True),
        sa.Column("states", sa.Text(), nullable=False),
        sa.Column("covariates", sa.Text(), nullable=True),
        sa.Column("key_id", Id, nullable=True),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("person_id", "n"),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "tombstones",
        sa.Column("person_id", Id, autoincrement=False, nullable=False),
        sa.Column("project_id", Id, nullable=False),
        sa.Column("decisions", sa.Integer(), nullable=False),
        sa.Column("outcomes", sa.Integer(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=True),
        sa.Column("key_id", Id, nullable=True),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("person_id"),
    )
