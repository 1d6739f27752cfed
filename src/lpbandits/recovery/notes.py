"""What a user should know before trusting fitted states."""

import numpy as np

from lpbandits.recovery.estimate import Estimate
from lpbandits.recovery.ratings import Ratings
from lpbandits.recovery.report import counted, share_text
from lpbandits.typing import Json

SHOWN = 20
"""How many labels of never-compared actions a report lists; it always counts them all."""

FEW_PEOPLE = 10
FEW_SHARE = 0.01
"""A state with fewer people, or a smaller share of them, is warned of."""

TOP = 5
FEW_RATERS = 5
"""A state of whose `TOP` first actions one was rated by fewer people in it is warned of."""


def size_notes(estimate: Estimate) -> list[str]:
    """Return a warning per state that hardly anybody is in; people count in their likeliest state."""
    people = np.bincount(estimate.labels, minlength=len(estimate.fits)).tolist()
    return [
        f"state {z} has only {counted(people[z], 'person', 'people')} ({share_text(float(share))}): its ordering says "
        "little about others; ask for fewer states"
        for z, share in enumerate(estimate.shares)
        if people[z] < FEW_PEOPLE or share < FEW_SHARE
    ]


def top_notes(estimate: Estimate, ratings: Ratings) -> list[str]:
    """Return a warning when first places rest on the ratings of very few people."""
    state = estimate.labels[ratings.owner]
    shaky = []
    for z, fit in enumerate(estimate.fits):
        raters = np.bincount(ratings.action[state == z], minlength=len(ratings.actions))
        top = [a for a in fit.ordering[:TOP].tolist() if not fit.never_compared[a]]
        if any(raters[a] < FEW_RATERS for a in top):
            shaky.append(str(z))
    if not shaky:
        return []
    return [
        f"{'state' if len(shaky) == 1 else 'states'} {', '.join(shaky)}: some of the {TOP} most preferred actions were "
        f"rated by fewer than {FEW_RATERS} people in the state; keep only actions with more ratings (--min-action)"
    ]


def graph_notes(estimate: Estimate, ratings: Ratings) -> tuple[list[Json], list[str]]:
    """Return, per state, the actions never compared, and warnings about them and about graphs in pieces."""
    never, notes = [], []
    for z, fit in enumerate(estimate.fits):
        absent = np.flatnonzero(fit.never_compared)
        never.append({"count": len(absent), "actions": [ratings.actions[a] for a in absent[:SHOWN].tolist()]})
        if len(absent):
            notes.append(
                f"state {z}: {len(absent)} of {len(ratings.actions)} actions were never compared and are put last"
            )
        if fit.components > 1:
            notes.append(
                f"state {z}: the comparisons fall into {fit.components} pieces that only the prior ties together"
            )
        if not fit.converged:
            notes.append(f"state {z}: utilities had not settled after {fit.passes} passes; use a smaller prior_sd")
    return never, notes
