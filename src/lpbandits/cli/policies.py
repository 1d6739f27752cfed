"""`lpb policies`: what there is to choose from."""

import typer

from lpbandits.cli.screen import print_json, print_table
from lpbandits.text import LINE, display


def policies(
    feedback: str | None = typer.Option(None, help="Only those that learn from **rewards**, or only from **duels**."),
    as_json: bool = typer.Option(False, "--json", help="Print one JSON object instead of a table."),
) -> None:
    """List the policies, from knowing most before the first round to knowing nothing, and what each assumes.

    Example: `lpb policies --feedback duels`
    """
    from lpbandits import validate
    from lpbandits.policies import POLICIES
    from lpbandits.policies.registry import load_outside

    load_outside()
    if feedback is not None:
        validate.as_choice(feedback, "feedback", ("rewards", "duels"))
    entries = [entry for entry in POLICIES.values() if feedback in (None, entry.feedback)]
    if as_json:
        keys = ("title", "feedback", "rung", "knows", "assumes")
        print_json({entry.name: {key: getattr(entry, key) for key in keys} for entry in entries})
        return
    for learns in ("rewards", "duels"):
        rows, before = [], ""
        for entry in sorted(entries, key=lambda entry: entry.place):
            if entry.feedback == learns:
                knows, *others = (display(getattr(entry, key), LINE) for key in ("knows", "name", "assumes"))
                rows.append(["" if knows == before else knows, *others])
                before = knows
        if rows:
            print_table(f"Learning from {learns}", ["knows", "name", "assumes"], rows)
