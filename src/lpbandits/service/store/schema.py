"""Tables of the store. Facts are appended and never updated; only `snapshots`, which facts determine, is replaced.

A person's facts are numbered 1, 2, … across the tables `starts`, `decisions`, `outcomes` and `corrections`. This number
orders them: clocks may be set back. Times are microseconds since 1970 in UTC; labels of actions are JSON scalars, so
that 1 and "1" differ.
"""

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Double,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    PrimaryKeyConstraint,
    Sequence,
    Table,
    Text,
    UniqueConstraint,
)

metadata = MetaData()
Id = BigInteger().with_variant(Integer, "sqlite")
"""In SQLite only an INTEGER PRIMARY KEY is the row id."""

person_ids = Sequence("person_ids", metadata=metadata)

projects = Table(
    "projects",
    metadata,
    Column("id", Id, primary_key=True),
    Column("name", Text, nullable=False, unique=True),
    Column("at", BigInteger, nullable=False),
)

configurations = Table(
    "configurations",
    metadata,
    Column("project_id", Id, nullable=False),
    Column("version", Integer, nullable=False),
    Column("content", Text, nullable=False),  # JSON: policy, mode, seed, settings, model, …
    Column("model_sha256", Text),
    Column("reason", Text),
    Column("deviation", Boolean, nullable=False),  # of the protocol of a trial
    Column("key_id", Id),
    Column("at", BigInteger, nullable=False),
    PrimaryKeyConstraint("project_id", "version"),
)

models = Table(
    "models",
    metadata,
    Column("sha256", Text, primary_key=True),
    Column("content", Text, nullable=False),
    Column("at", BigInteger, nullable=False),
)

people = Table(
    "people",
    metadata,
    Column("id", Id, primary_key=True, autoincrement=False),
    Column("project_id", Id, nullable=False),
    Column("label", Text, nullable=False),
    Column("holdout", Boolean, nullable=False),
    Column("at", BigInteger, nullable=False),
    UniqueConstraint("project_id", "label"),
)

starts = Table(  # what is known about a person before the first outcome
    "starts",
    metadata,
    Column("person_id", Id, nullable=False),
    Column("n", Integer, nullable=False),
    Column("prior", Text),  # JSON
    Column("states", Text, nullable=False),  # digest of the states that the prior is about
    Column("covariates", Text),  # JSON
    Column("key_id", Id),
    Column("at", BigInteger, nullable=False),
    PrimaryKeyConstraint("person_id", "n"),
    sqlite_with_rowid=False,
)

decisions = Table(
    "decisions",
    metadata,
    Column("person_id", Id, nullable=False),
    Column("n", Integer, nullable=False),
    Column("asked", BigInteger, nullable=False),  # number of earlier asks
    Column("version", Integer, nullable=False),  # of the configuration: model, policy, seed
    Column("allowed", Text),  # JSON list; null: all actions of the model
    Column("action", Text, nullable=False),  # recommended
    Column("returned", Text),  # the caller's own action in shadow mode
    Column("positive", Text),  # JSON list of [action, probability > 0]; null: the policy has no exact probabilities
    Column("schedule", Integer),  # position in a schedule
    Column("library", Text, nullable=False),
    Column("key_id", Id),
    Column("at", BigInteger, nullable=False),
    PrimaryKeyConstraint("person_id", "n"),
    UniqueConstraint("person_id", "asked"),
    sqlite_with_rowid=False,
)

outcomes = Table(
    "outcomes",
    metadata,
    Column("person_id", Id, nullable=False),
    Column("n", Integer, nullable=False),
    Column("asked", BigInteger),  # of its decision; null without one
    Column("action", Text, nullable=False),  # given
    Column("reward", Double),  # null: given, the reward is not known yet
    Column("occurred_at", BigInteger),  # by the caller
    Column("key_id", Id),
    Column("at", BigInteger, nullable=False),
    PrimaryKeyConstraint("person_id", "n"),
    Index("outcomes_asked", "person_id", "asked"),
    sqlite_with_rowid=False,
)

corrections = Table(
    "corrections",
    metadata,
    Column("person_id", Id, nullable=False),
    Column("n", Integer, nullable=False),
    Column("outcome", Integer, nullable=False),  # number of the corrected outcome
    Column("action", Text),  # null: as before
    Column("reward", Double),  # null: withdrawn
    Column("reason", Text, nullable=False),
    Column("key_id", Id),
    Column("at", BigInteger, nullable=False),
    PrimaryKeyConstraint("person_id", "n"),
    sqlite_with_rowid=False,
)

requests = Table(  # answered writes with an Idempotency-Key
    "requests",
    metadata,
    Column("project_id", Id, nullable=False),
    Column("key", Text, nullable=False),
    Column("digest", LargeBinary, nullable=False),
    Column("kind", Text, nullable=False),
    Column("person_id", Id),  # null: several people, or none
    Column("facts", Text, nullable=False),  # JSON: the facts it added, or its answer if that is not about people
    Column("at", BigInteger, nullable=False),
    PrimaryKeyConstraint("project_id", "key"),
    Index("requests_person", "person_id"),
    sqlite_with_rowid=False,
)

snapshots = Table(
    "snapshots",
    metadata,
    Column("person_id", Id, primary_key=True, autoincrement=False),
    Column("n", Integer, nullable=False),  # number of facts
    Column("asked", BigInteger, nullable=False),
    Column("version", Integer, nullable=False),  # of the configuration of the belief
    Column("belief", LargeBinary),  # packed; null: to be derived
)

tombstones = Table(  # people who were deleted
    "tombstones",
    metadata,
    Column("person_id", Id, primary_key=True, autoincrement=False),
    Column("project_id", Id, nullable=False),
    Column("decisions", Integer, nullable=False),
    Column("outcomes", Integer, nullable=False),
    Column("reason", Text),
    Column("key_id", Id),
    Column("at", BigInteger, nullable=False),
)

keys = Table(
    "keys",
    metadata,
    Column("id", Id, primary_key=True),
    Column("hash", LargeBinary, nullable=False, unique=True),  # SHA-256 of 256 random bits
    Column("name", Text, nullable=False),
    Column("role", Text, nullable=False),
    Column("project", Text),  # null: all projects
    Column("expires_at", BigInteger),
    Column("created_by", Id),
    Column("at", BigInteger, nullable=False),
)

revocations = Table(
    "revocations",
    metadata,
    Column("key_id", Id, primary_key=True, autoincrement=False),
    Column("revoked_by", Id),
    Column("at", BigInteger, nullable=False),
)

FACTS = (starts, decisions, outcomes, corrections)
"""Tables whose rows are a person's facts."""

PERSONAL = (*FACTS, snapshots)
"""Tables with rows of a person, besides `people` and `requests`."""
