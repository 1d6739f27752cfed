"""`lpb policies`: what there is to choose from."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

import typer

from lpbandits.cli.screen import print_json, print_table

if TYPE_CHECKING:
    from lpbandits.duels import DuelEntry
    from lpbandits.policies import Entry

TITLES = {"absolute": "Policies", "duel": "\nPolicies for duels (`lpb simulate --feedback duel`)"}


def policies(
    feedback: str | None = typer.Option(
        None, help="Only those for **absolute** rewards (what --json lists by default), or only those for **duel**."
    ),
    as_json: bool = typer.Option(False, "--json", help="Print one JSON object instead of a table."),
) -> None:
    """List the policies: what each knows before the first round, and what it assumes.

    Example: `lpb policies --json`
    """
    from lpbandits import validate
    from lpbandits.duels import DUEL_POLICIES
    from lpbandits.policies import POLICIES

    known: dict[str, Mapping[str, Entry | DuelEntry]] = {"absolute": POLICIES, "duel": DUEL_POLICIES}
    chosen = list(known) if feedback is None else [validate.as_choice(feedback, "feedback", known)]
    if as_json:
        own = known[chosen[0]].items()
        print_json({name: {"title": e.title, "knows": e.knows, "assumes": e.assumes} for name, e in own})
        return
    for kind in chosen:
        rows = [[name, entry.title, entry.knows, entry.assumes] for name, entry in known[kind].items()]
        print_table(TITLES[kind], ["name", "policy", "knows", "assumes"], rows)
