"""Determine whether an evaluation fits models or uses a given one."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from lpbandits import validate
from lpbandits.data.ratings import Ratings
from lpbandits.evaluation.fit_config import FitConfig
from lpbandits.fit.provenance import Provenance
from lpbandits.model import PreferenceModel, as_model
from lpbandits.text import pluralize
from lpbandits.worlds.replay import align


@dataclass(frozen=True, eq=False)
class Source:
    """A log, and the model or the fit settings to evaluate on it."""

    log: Ratings
    model: PreferenceModel | None = None
    """A model that is evaluated as it is; None if models are fitted."""
    fit_config: FitConfig | None = None
    """The settings of the fits; None if they are selected on the development set."""
    notes: Sequence[str] = ()
    unseen: bool = True
    """Whether the replayed people are known not to be in the training data."""

    @classmethod
    def of(cls, model: Any, log: Ratings) -> "Source":
        """Use a model as it is only if no person of the log is in its training data; otherwise use its settings."""
        if model is None:
            return cls(log)
        model = as_model(model)
        unseen = Provenance.of(model).none_in_training(log.people)  # None if unknown
        config = FitConfig.of(model)
        aligned, dropped = align(log, model)
        notes = [f"ignored {pluralize(dropped, 'rating')} of actions that are not in the model"] if dropped else []
        if not unseen and config is not None:
            why = "it is unknown whether " if unseen is None else ""
            notes.append(
                f"{why}people of this log are in the model's training data: the model was refitted with the same "
                "settings, without the held-out people"
            )
            if not validate.is_exactly(model.provenance.get("data_sha256"), log.sha256):
                notes.append("this log is not the one that the model was fitted to")
            return cls(aligned, None, config, notes)
        reasons = {
            True: ": none of these people are in its training data",
            None: "; it is unknown whether these people are in its training data",
            False: ", although it was trained on people of this log: it has no record of its fit settings",
        }
        return cls(aligned, model, None, [*notes, f"the model was used as it is{reasons[unseen]}"], unseen=bool(unseen))
