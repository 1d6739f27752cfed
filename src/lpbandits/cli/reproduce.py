"""`lpb reproduce`: figures and claims of the paper, and further figures."""

from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import typer

from lpbandits.cli import options
from lpbandits.cli.screen import COMPILES, print_json, print_table, progress_bar, say
from lpbandits.text import LINE, display


def reproduce(
    figures: list[str] | None = typer.Argument(
        None, help="Names of figures, **paper** or **beyond** for a group; all figures by default."
    ),
    show: bool = typer.Option(False, "--list", help="List the figures and exit."),
    quick: bool = typer.Option(False, help="Fewer people, settings and draws: a minute, but most claims unsettled."),
    draws: int | None = typer.Option(None, help="Draws of the orderings; default 3 to 48 by figure, 2 with --quick."),
    people: int | None = typer.Option(None, help="People per state; default 50, 10 with --quick."),
    rounds: int = typer.Option(200, help="Rounds per person."),
    plugin: options.Plugins = None,
    jobs: int | None = typer.Option(None, help="Worker processes; default one per core. Does not change results."),
    backend: options.Backend = "processes",
    address: options.Address = None,
    threads: options.Threads = None,
    seed: options.Seed = 0,
    out: Path = typer.Option(Path("results"), help="Output folder for report, claims, figures and tables."),
    resume: bool = typer.Option(False, help="Skip cases that an interrupted run has finished."),
    as_json: options.AsJson = False,
) -> None:
    """Reproduce the figures of the paper, and further ones (**beyond**), and check the claims.

    Example: `lpb reproduce regret-curves vary-states --out results --seed 0`
    """
    from lpbandits import validate
    from lpbandits.paper.report import SOURCES
    from lpbandits.paper.reproduce import listing
    from lpbandits.paper.reproduce import reproduce as run
    from lpbandits.paper.spec import FULL, QUICK
    from lpbandits.parallel import Workers

    options.load_plugins(plugin)
    if show:
        _show_list(listing(), as_json=as_json)
        return
    by_default = (jobs, backend, address) == (None, "processes", None)
    chosen_workers = Workers() if by_default else options.workers_of(jobs, backend, address)
    sizes = {"rounds": rounds, "draws": draws, "people": people}
    counts: Any = {name: validate.as_count(value, name) for name, value in sizes.items() if value is not None}
    size = replace(QUICK if quick else FULL, **counts)
    with progress_bar(f"reproducing ({COMPILES})") as report:
        done = run(
            figures or [],
            out=out,
            size=size,
            seed=seed,
            jobs=chosen_workers,
            threads=threads,
            resume=resume,
            progress=report,
        )
    for why in done.recomputed:
        typer.echo(f"note: recomputed: {display(why, LINE)}", err=True)
    if as_json:
        names = ("skipped", "recomputed", "seconds", "report")
        claims = {"claims": [asdict(claim) for claim in done.claims]}
        print_json(claims | {name: getattr(done, name) for name in names})
        return
    for source, title in SOURCES.items():
        claims_of = [claim for claim in done.claims if claim.source == source]
        rows = [[claim.verdict, claim.claim, claim.measure, claim.effect_text] for claim in claims_of]
        if rows:
            print_table(title, ["verdict", "claim", "measure", "effect [95 %]"], rows)
    for name, why in done.skipped.items():
        say(f"not run: {name} ({why})", style="dim")
    say(f"\n{done.seconds:.0f} s. Report: {display(done.report, None)}")


def _show_list(figures: list[dict[str, Any]], *, as_json: bool) -> None:
    if as_json:
        print_json({"figures": figures})
        return
    columns = ["name", "shows", "settings", "draws", "data"]
    for group, title in (("paper", "Figures of the paper"), ("beyond", "\nBeyond the paper")):
        rows = []
        for figure in (figure for figure in figures if figure["group"] == group):
            data = "–" if figure["needs_data"] is None else f"MovieLens {figure['needs_data']}"
            data += "" if figure["data_here"] else " (not installed)"
            rows.append([figure["name"], figure["shows"], str(len(figure["settings"])), str(figure["draws"]), data])
        print_table(title, columns, rows)
