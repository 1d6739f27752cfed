"""`lpb policies`: list the registered policies."""

import typer

from lpbandits.cli import options
from lpbandits.cli.screen import print_json, print_table, say
from lpbandits.text import LINE, display


def policies(
    feedback: str | None = typer.Option(None, help="List only policies that learn from **rewards** or **duels**."),
    rounds: int | None = typer.Option(None, help="Also recommend a policy for this number of rounds per person."),
    plugin: options.Plugins = None,
    as_json: options.AsJson = False,
) -> None:
    """List the policies, from most to least prior knowledge: what each knows, and what it assumes or does.

    Example: `lpb policies --feedback duels`
    """
    from lpbandits import validate
    from lpbandits.policies import POLICIES
    from lpbandits.policies.advice import advice, regret_in
    from lpbandits.policies.registry import load_outside

    load_outside()
    options.load_plugins(plugin)
    if feedback is not None:
        validate.as_choice(feedback, "feedback", ("rewards", "duels"))
    advised, regret = (None, {}) if rounds is None else (advice(rounds), regret_in(rounds)[1])
    entries = [entry for entry in POLICIES.values() if feedback in (None, entry.feedback)]
    if as_json:
        keys = ("title", "feedback", "rung", "knows", "assumes")
        listed = {entry.name: {key: getattr(entry, key) for key in keys} for entry in entries}
        if advised is not None:
            for name, content in listed.items():
                content["regret"] = regret.get(name)
        print_json(listed)
        return
    columns = ["knows", "name", "assumes"]
    headings = [*columns[:-1], "assumes / does"]
    for outcomes in ("rewards", "duels"):
        rows: list[list[str]] = []
        previous = ""
        for entry in sorted(entries, key=lambda entry: entry.place):
            if entry.feedback == outcomes:
                knows, *others = (display(getattr(entry, column), LINE) for column in columns)
                rows.append(["" if knows == previous else knows, *others])
                previous = knows
        if rows:
            above = "\n" if outcomes == "duels" and feedback is None else ""
            print_table(f"{above}Learning from {outcomes}", headings, rows)
    if advised is not None:
        say(f"\n{advised}")
