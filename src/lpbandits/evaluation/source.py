"""Where an evaluation's model comes from: fitted in several ways, fitted as a given one was, or given as it is."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from lpbandits import validate
from lpbandits.data.ratings import Ratings
from lpbandits.errors import InvalidInput
from lpbandits.evaluation.fit_config import Settings
from lpbandits.fit.training_sketch import none_in_training
from lpbandits.model import PreferenceModel, as_model
from lpbandits.text import pluralize


@dataclass(frozen=True, eq=False)
class Source:
    """A log and what is tried on it."""

    log: Ratings
    model: PreferenceModel | None = None
    """Used as it is; None: models are fitted."""
    settings: Settings | None = None
    """How they are fitted; None: as development people choose, among what the user left open."""
    notes: Sequence[str] = ()
    unseen: bool = True
    """Whether nobody who is replayed was in a fit, as far as that can be known."""

    @classmethod
    def of(cls, model: Any, log: Ratings) -> "Source":
        """Take a model as it is only if nobody of the log was in its fit; otherwise fit others as it was fitted."""
        if model is None:
            return cls(log)
        model = as_model(model)
        strangers = none_in_training(model, log.people)
        settings = Settings.of(model)
        whole = log
        log, dropped = aligned(log, model)
        notes = []
        if dropped:
            what = pluralize(dropped, "rating was", "ratings were")
            notes.append(f"{what} of actions that the model does not have, and left out")
        if strangers:
            notes.append("the model was used as it is: none of these people were in its fit")
            return cls(log, model, None, notes)
        if settings is not None:
            why = "people of this log were in the model's fit"
            if strangers is None:
                why = "whether people of this log were in the model's fit cannot be told"
            notes.append(f"{why}: it was fitted anew, in the same way, without those replayed")
            if not validate.is_exactly(model.provenance.get("data_sha256"), whole.sha256):
                notes.append("this is another log, or another part of it, than the model was fitted to")
            return cls(log, None, settings, notes)
        if strangers is None:
            notes.append("the model was used as it is; whether these people were in its fit cannot be told")
        else:
            notes.append(
                "the model was used as it is, though people of this log were in its fit: how it was made is lost"
            )
        return cls(log, model, None, notes, unseen=False)


def aligned(log: Ratings, model: PreferenceModel) -> tuple[Ratings, int]:
    """Return the log with the model's actions in the model's order, and how many ratings of others were left out.

    >>> log = Ratings.from_arrays([0, 0, 1], ["tea", "jam", "milk"], [5, 3, 4])
    >>> aligned(log, PreferenceModel([[0, 1]], actions=["tea", "jam"]))
    (<Ratings: 2 by 2 people of 2 actions>, 1)
    """
    action = model.indices_of(log.actions)[log.action]
    known = action >= 0
    if not known.any():
        raise InvalidInput(
            f"none of the log's actions, such as {validate.short_repr(log.actions[0])}, is one of the model's, such as "
            f"{validate.short_repr(model.actions[0])}; give the log that it belongs to"
        )
    kept = Ratings.from_codes(
        log.owner[known], action[known], log.rating[known], people=log.people, actions=model.actions
    )
    return kept, int((~known).sum())
