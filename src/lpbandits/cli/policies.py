"""`lpb policies`: what there is to choose from."""

import typer

from lpbandits.cli.screen import print_json, print_table
from lpbandits.text import LINE, shown


def policies(
    feedback: str | None = typer.Option(None, help="Only those that learn from **rewards**, or only from **duels**."),
    as_json: bool = typer.Option(False, "--json", help="Print one JSON object instead of a table."),
) -> None:
    """List the policies: what each learns from, knows before the first round, and assumes.

    Example: `lpb policies --feedback duels`
    """
    from lpbandits import validate
    from lpbandits.policies import POLICIES
    from lpbandits.policies.registry import load_outside

    load_outside()
    if feedback is not None:
        validate.as_choice(feedback, "feedback", ("rewards", "duels"))
    entries = [entry for entry in POLICIES.values() if feedback in (None, entry.feedback)]
    columns = ("title", "feedback", "knows", "assumes")
    if as_json:
        print_json({entry.name: {name: getattr(entry, name) for name in columns} for entry in entries})
        return
    rows = [[shown(getattr(entry, name), LINE) for name in ("name", *columns)] for entry in entries]
    print_table("Policies", ["name", "policy", "learns from", "knows", "assumes"], rows)
