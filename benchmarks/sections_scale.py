"""The sections of docs/benchmarks.md on long work: a whole fit, two processes, and logs beyond memory."""

from benchmarks.markdown import Records, figure, missing, table
from benchmarks.results import Results


def fit(results: Results) -> str:
    (whole,) = results.table("fit")
    stages = sorted(results.table("fit-stages"), key=lambda one: -float(one["seconds"]))
    rows = [[one["stage"], figure(one["seconds"], 1)] for one in stages]
    size = f"{whole['ratings']:,} ratings of {whole['actions']:,} actions by {whole['people']:,} people"
    needed = f"{whole['processor s']:.0f} s of processor time and {whole['GiB']:.1f} GiB at its peak"
    return f"""
`lpb fit ratings.parquet --states {whole["states"]}`, as anyone would run it, on a generated log of MovieLens-32M's
shape in no order: {size}. By the clock, from the start of the process
to the written model, so that only an idle machine tells anything (load before it: {whole["load"]:.1f}):
**{whole["seconds"]:.0f} s**, with {needed}. Where the seconds went, as the
fit itself tells:

{table(["stage", "seconds"], rows)}
"""


def processes(results: Results) -> str:
    records = results.table("processes")
    rows = [
        [f"{one['jobs']}", figure(one["seconds"], 0), figure(one["processor s"], 0), figure(one["GiB"], 1)]
        for one in records
    ]
    return f"""
`lpb reproduce regret-curves vary-both vary-states vary-noise --threads 1`, with `--jobs 1` and with
`--jobs 2`: the same figures to the last bit. By the clock, compiled before, start and charts included; on a machine
with other work, or with fewer than two free cores, two processes gain less (load before it: {records[0]["load"]:.1f}).

{table(["processes", "seconds", "processor seconds", "GiB, all together"], rows)}
"""


def beyond(results: Results) -> str:
    records = results.table("beyond")
    return f"""
`lpb fit 'ratings/*.parquet' --states 5 --max-memory 8GB` on 250,000, 500,000 and a million people with 200 ratings
each, of 2,000 actions, in Parquet files; a person's ratings are scattered over them ([how](scale.md)). Memory is that
of all processes together, the highest seen. One log has one model, whoever fits it: its hash is the last column.

{_fits(records)}

![Seconds of a fit by the number of ratings](benchmarks/beyond.svg)

**Slopes**: what a million ratings more cost, by straight lines through these sizes; in brackets, what is left at none.

{_slopes(results.table("beyond-slopes"))}

On the disk, a rating took {_most(records, "log bytes")} bytes in the log and, while it was fitted, at most
{_most(records, "scratch bytes")} bytes in the scratch folder.
{missing(results.table("beyond-missing"))}
"""


def _fits(records: Records) -> str:
    rows = [
        [
            f"{one['ratings'] / 1e6:,.0f} million, {one['way']}",
            figure(one["seconds"], 0),
            figure(one["processor s"], 0),
            figure(one["GiB"], 1),
            f"`{str(one['sha256'])[:8]}`",
        ]
        for one in records
    ]
    return table(["", "seconds", "processor seconds", "GiB", "model"], rows)


def _slopes(records: Records) -> str:
    kinds = ("s", "processor s", "GiB")
    rows = [
        [one["way"], *(f"{one[f'{kind} a million']:.3g} ({one[f'{kind} at none']:.2g})" for kind in kinds)]
        for one in records
    ]
    return table(["", "seconds", "processor seconds", "GiB"], rows)


def _most(records: Records, name: str) -> str:
    return f"{max(float(one[name]) for one in records):.1f}"
