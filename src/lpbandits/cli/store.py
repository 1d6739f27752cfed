"""`lpb store`: verify, back up, export and count what the decision service recorded, and make a key for it."""

from pathlib import Path

import typer

from lpbandits.cli import options
from lpbandits.cli.screen import print_json, print_table, progress_bar, say
from lpbandits.cli.sources import Project, StoreUrl, opened_store
from lpbandits.errors import FileFormatError
from lpbandits.text import LINE, display, pluralize, significant, size_text
from lpbandits.typing import Json

store = typer.Typer(no_args_is_help=True)


@store.callback()
def group() -> None:
    """Verify, back up, export and count what the decision service recorded, and make a key for it.

    Example: `lpb store verify --store sqlite:///lpb.db`
    """


@store.command("verify", cls=options.Command)
def verify(
    store: StoreUrl = None,
    project: Project = None,
    jobs: options.Jobs = None,
    as_json: options.AsJson = False,
) -> None:
    """Replay everyone from the recorded facts, and compare decisions, probabilities and beliefs bit for bit.

    A server may write meanwhile. A difference is an error that names the person and the fact. Times, reasons and keys
    cannot be replayed: they are not compared.

    Example: `lpb store verify --store sqlite:///lpb.db --jobs 2`
    """
    chosen = options.workers_of(jobs, "processes", None)
    with opened_store(store) as opened, progress_bar() as report:
        from lpbandits.service.verify import verify as run

        verified = run(opened, project=project, jobs=chosen, progress=report)
    content = verified.to_dict()
    if as_json:
        print_json(content)
    else:
        for words in verified.differences[1:]:
            say(display(words, LINE))
        counts = ", ".join(
            pluralize(content[f"{name}s"], name) for name in ("decision", "outcome", "correction", "request")
        )
        people = pluralize(content["people"], "person", "people")
        say(f"Replayed {people}: {counts}, in {verified.seconds:.1f} s")
    if verified.n_differences:
        raise FileFormatError(
            f"the store has {pluralize(verified.n_differences, 'difference')} from its replay; the first: "
            f"{verified.differences[0]}"
        )
    if not as_json:
        say("All that can be replayed is as recorded: facts, decisions, probabilities, beliefs and stored answers.")
        say("Times, reasons, keys and the callers' own actions do not follow from anything: they are not compared.")


@store.command("backup", cls=options.Command)
def backup(
    out: Path = typer.Option(..., help="New file for the copy."),
    store: StoreUrl = None,
    overwrite: bool = typer.Option(False, "--overwrite", help="Replace an existing file, once the copy is complete."),
    as_json: options.AsJson = False,
) -> None:
    """Copy a store in SQLite, also while a server writes, and check the copy.

    Example: `lpb store backup --store sqlite:///lpb.db --out backup.db`
    """
    with opened_store(store) as opened, progress_bar() as report:
        from lpbandits.service.backup import backup as run

        done = run(opened, out, overwrite=overwrite, progress=report)
    if as_json:
        print_json(done.to_dict())
    else:
        say(f"Backup: {display(out, None)}, {size_text(done.bytes)}, checked, in {done.seconds:.1f} s")


@store.command("key", cls=options.Command)
def key(store: StoreUrl = None, as_json: options.AsJson = False) -> None:
    """Make an admin key, if all others are lost; any user who can write the store can make one.

    A store in SQLite has one writer: stop its server first.

    Example: `lpb store key --store sqlite:///lpb.db`
    """
    with opened_store(store) as opened:
        url = opened.url.render_as_string(hide_password=False)
    from lpbandits.service.access import NewKey
    from lpbandits.service.service import Service
    from lpbandits.service.store.database import Store

    with Service(Store(url, serving=True)) as service:
        made = service.writer.submit(NewKey("lpb store key", "admin")).result().body
    if as_json:
        print_json(made)
    else:
        say(f"key {made['key']} (an admin key; it is not shown again)")


@store.command("export", cls=options.Command)
def export(
    out: Path = typer.Option(..., help="Folder, or **.zip** file, for the tables."),
    store: StoreUrl = None,
    project: Project = None,
    table_format: str = typer.Option("parquet", "--format", help="Format of the tables: **parquet** or **csv**."),
    as_json: options.AsJson = False,
) -> None:
    """Write people, decisions, outcomes, corrections, configurations and ratings of a project to tables.

    `lpb fit` and `lpb evaluate` read the result.

    Example: `lpb store export --store sqlite:///lpb.db --project canteen --out canteen.zip`
    """
    from lpbandits.io.atomic import check_writable

    if out.suffix.lower() == ".zip":
        check_writable(out)
    with opened_store(store) as opened, progress_bar() as report:
        from lpbandits.service.export import export_folder, export_zip

        write = export_zip if out.suffix.lower() == ".zip" else export_folder
        about = write(opened, out, project=project, table_format=table_format, progress=report)
    if as_json:
        print_json({**about, "out": out})
        return
    counts = ", ".join(f"{name} {about['counts'][name]:,}" for name in sorted(about["counts"]))
    place = display(out, None)
    say(f"Project {about['project']}: {counts}\nExport: {place} (next: lpb fit {place})")


@store.command("stats", cls=options.Command)
def stats(store: StoreUrl = None, project: Project = None, as_json: options.AsJson = False) -> None:
    """Count people, decisions and outcomes, and compare the mean rewards of the policy and the holdout.

    Example: `lpb store stats --store sqlite:///lpb.db`
    """
    with opened_store(store) as opened, opened.reading() as sql:
        from lpbandits.service.stats import all_stats, project_stats, store_bytes

        size = store_bytes(opened, sql)
        projects = all_stats(sql) if project is None else [project_stats(sql, project)]
    if as_json:
        print_json({"bytes": size, "projects": projects})
        return
    say(f"The store takes {size_text(size)} and has {pluralize(len(projects), 'project')}")
    for about in projects:
        _show(about)


def _show(about: Json) -> None:
    columns = ["", "people", "recommended", "given", "rewards", "mean reward"]
    rows = [
        [display(one.get("arm", one.get("action"))), f"{one['people']:,}" if "people" in one else ""]
        + [f"{one[name]:,}" for name in ("recommended", "given", "rewards")]
        + ["–" if one["mean_reward"] is None else significant(one["mean_reward"])]
        for one in (*about["arms"], *about["actions"])
    ]
    names = ("people", "decisions", "waiting", "outcomes", "withdrawn", "corrections", "deleted")
    counts = ", ".join(f"{name} {about[name]:,}" for name in names)
    note = "" if about["first"] is None else f"From {about['first']} to {about['last']}"
    print_table(f"\nProject {about['project']}: {counts}", columns, rows, note=note)
