"""Example log: guests of a canteen rate dishes from 1 to 5 stars."""

from pathlib import Path

import numpy as np
import polars as pl

from lpbandits.errors import translate_errors
from lpbandits.io.atomic import atomic_folder, write_text
from lpbandits.typing import BoolArray, FloatArray

BASES = ("noodles", "rice bowl", "dumplings", "flatbread", "salad", "soup", "stew", "pie")
KINDS = ("chicken", "tofu", "beef", "mushroom", "prawn", "lentil", "aubergine", "salmon")
MEAT, SEA = {"chicken", "beef"}, {"prawn", "salmon"}
LIGHT = {"salad", "soup", "rice bowl"}
STATES = 4
"""Meat, vegetarian, light and seafood."""

GUESTS, NEWCOMERS = 600, 40
MIN_RATINGS = 6
"""Minimum number of ratings of a guest."""

SEED = 20_251
FORMAT, VERSION = "lpbandits-example", 1


@translate_errors("writing the example")
def write_example(folder: str | Path) -> dict[str, int]:
    """Write ratings.csv, titles.csv and newcomers.csv to a folder; return the number of rows of each.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_example(f"{folder}/example")
    {'ratings.csv': 15799, 'titles.csv': 64, 'newcomers.csv': 124}
    """
    titles = [f"{kind} {base}".capitalize() for kind in KINDS for base in BASES]
    labels = _labels()
    stars = _stars()
    rng = np.random.default_rng([SEED, 2])
    position = np.argsort(rng.random(stars.shape), axis=1)  # the order in which a guest tries the dishes
    eaten = position[:GUESTS] < MIN_RATINGS + rng.beta(1.5, 3, (GUESTS, 1)) * (len(titles) - MIN_RATINGS)
    few = position[GUESTS:] < rng.integers(1, 7, (NEWCOMERS, 1))
    tables = {
        "ratings.csv": _log("guest", labels, stars[:GUESTS], eaten),
        "titles.csv": pl.DataFrame({"dish": labels, "title": titles}),
        "newcomers.csv": _log("newcomer", labels, stars[GUESTS:], few),
    }
    with atomic_folder(folder, {"format": FORMAT, "version": VERSION}) as place:
        for name, table in tables.items():
            write_text(place / name, table.write_csv())
    return {name: table.height for name, table in tables.items()}


def newcomer_stars() -> tuple[list[str], FloatArray]:
    """Return the labels of the dishes, and newcomers × dishes of the stars that each newcomer would give.

    >>> labels, stars = newcomer_stars()
    >>> labels[0], stars.shape
    ('dish-01', (40, 64))
    """
    return _labels(), _stars()[GUESTS:]


def _labels() -> list[str]:
    return [f"dish-{i:02d}" for i in range(1, len(KINDS) * len(BASES) + 1)]


def _stars() -> FloatArray:
    """Return guests × dishes of whole stars: state preference, individual preference, scale and noise."""
    rng = np.random.default_rng([SEED, 1])
    meat, sea, light = (np.isin(names, list(group)) for names, group in ((KINDS, MEAT), (KINDS, SEA), (BASES, LIGHT)))
    meat, sea = meat[:, None], sea[:, None]
    states = 1.0 * meat, -1.2 * meat - 0.4 * sea, 1.0 * light - 0.3 * meat, 1.1 * sea - 0.2 * meat
    preference = np.stack([np.broadcast_to(state, (len(KINDS), len(BASES))) for state in states])
    preference = preference.reshape(STATES, -1) + 0.5 * rng.normal(size=len(KINDS) * len(BASES))
    people = GUESTS + NEWCOMERS
    state = rng.choice(STATES, people, p=[0.35, 0.3, 0.2, 0.15])
    individual = 0.4 * rng.normal(size=(people, len(KINDS), 1)) + 0.3 * rng.normal(size=(people, 1, len(BASES)))
    level, scale = 3.3 + 0.5 * rng.normal(size=(people, 1)), np.exp(0.25 * rng.normal(size=(people, 1)))
    noise = 0.6 * rng.normal(size=(people, preference.shape[1]))
    rating = level + 0.9 * scale * (preference[state] + individual.reshape(people, -1) + noise)
    return np.clip(np.round(rating), 1, 5)


def _log(who: str, labels: list[str], stars: FloatArray, eaten: BoolArray) -> pl.DataFrame:
    people, dishes = np.nonzero(eaten)
    guests, dish = [f"{who}-{n + 1:03d}" for n in people], [labels[a] for a in dishes]
    return pl.DataFrame({"guest": guests, "dish": dish, "stars": stars[eaten].astype(np.int64)})
