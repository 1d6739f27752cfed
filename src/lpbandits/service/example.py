"""The project of `lpb serve --example`: newcomers of a canteen, who get a dish a day for a month."""

import tempfile
import time
from pathlib import Path

import numpy as np

from lpbandits.data import read_ratings
from lpbandits.datasets.example import newcomer_stars, write_example
from lpbandits.fit import fit_states
from lpbandits.model import PreferenceModel
from lpbandits.service.requests.ask import Ask, AskItem
from lpbandits.service.requests.configure import Configure
from lpbandits.service.requests.correct import Correct
from lpbandits.service.requests.tell import Tell, TellItem
from lpbandits.service.service import Service
from lpbandits.service.unit import Unit
from lpbandits.service.writer import Writer, WriteRequest
from lpbandits.typing import Json

PROJECT = "example"
DAYS = 30
SETTINGS = {"policy": "lpbts", "holdout": 0.2, "seed": 7}


def fill(service: Service) -> None:
    """Fill the project with decisions, outcomes and corrections of the last month, unless it exists."""
    with service.store.reading() as sql:
        if Unit(sql, service.setups, 0).known_project(PROJECT) is not None:
            return
    clock = [time.time() - DAYS * 86_400.0]
    writer = Writer(service.store, service.setups, clock=lambda: clock[0])

    def answer(request: WriteRequest) -> Json:
        clock[0] += 1.0
        body: Json = writer.submit(request).result().body
        return body

    answer(Configure(PROJECT, None, b"", None, "configuration", SETTINGS, reason="example"))
    answer(Configure(PROJECT, None, b"", None, "model", {}, _model(), "example"))
    labels, stars = newcomer_stars()
    place = {label: i for i, label in enumerate(labels)}
    rng = np.random.default_rng(7)
    for day in range(DAYS):
        clock[0] = time.time() - (DAYS - day) * 86_400.0
        guests = np.flatnonzero(rng.random(len(stars)) < 0.6)
        asks = tuple(AskItem(f"guest {i + 1}", exclude_seen=True) for i in guests.tolist())
        decisions = answer(Ask(PROJECT, None, b"", None, "decisions", asks))["decisions"]
        items = []
        for guest, decision in zip(guests.tolist(), decisions, strict=True):
            if rng.random() < 0.9:  # the others give no feedback
                given = decision["action"] if rng.random() < 0.95 else labels[int(rng.integers(len(labels)))]
                reward = float(stars[guest, place[given]])
                items.append(TellItem(decision["person"], decision["decision"], given, reward))
        outcomes = answer(Tell(PROJECT, None, b"", None, "outcomes", tuple(items)))["outcomes"]
        if day % 7 == 0:
            wrong = outcomes[int(rng.integers(len(outcomes)))]["outcome"]
            answer(Correct(PROJECT, None, b"", None, "correction", wrong, None, "feedback of another guest"))
    writer.stop()


def _model() -> PreferenceModel:
    """Return a model of the canteen's log."""
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "log"
        write_example(log)
        return fit_states(read_ratings(log / "ratings.csv"), states=4, taste=False).model
