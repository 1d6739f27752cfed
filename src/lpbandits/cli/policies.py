"""`lpb policies`: what there is to choose from."""

import typer

from lpbandits.cli.screen import print_json, print_table


def policies(
    as_json: bool = typer.Option(False, "--json", help="Print one JSON object instead of a table."),
) -> None:
    """List the policies: what each knows before the first round, and what it assumes.

    Example: `lpb policies --json`
    """
    from lpbandits.policies import POLICIES

    if as_json:
        entries = {n: {"title": e.title, "knows": e.knows, "assumes": e.assumes} for n, e in POLICIES.items()}
        print_json(entries)
        return
    rows = [[name, entry.title, entry.knows, entry.assumes] for name, entry in POLICIES.items()]
    print_table("Policies", ["name", "policy", "knows", "assumes"], rows)
