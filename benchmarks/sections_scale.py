"""The sections of docs/benchmarks.md on long computations: a complete fit, two processes, and large logs."""

from benchmarks.markdown import Records, figure, missing, table
from benchmarks.results import Results


def fit(results: Results) -> str:
    (whole,) = results.table("fit")
    stages = sorted(results.table("fit-stages"), key=lambda one: -float(one["seconds"]))
    rows = [[one["stage"], figure(one["seconds"], 1)] for one in stages]
    size = f"{whole['ratings']:,} ratings of {whole['actions']:,} actions by {whole['people']:,} people"
    needed = f"{whole['processor s']:.0f} s of CPU time and {whole['GiB']:.1f} GiB at its peak"
    return f"""
`lpb fit ratings.parquet --states {whole["states"]}`, with default options, on a shuffled synthetic log of
MovieLens-32M's shape: {size}. Wall time from the start of the
process to the written model: **{whole["seconds"]:.0f} s**, with {needed}.
Wall times are meaningful only on an idle machine; its load before the run was {whole["load"]:.1f}. Wall time by stage,
as the fit reports it:

{table(["stage", "seconds"], rows)}
"""


def processes(results: Results) -> str:
    records = results.table("processes")
    rows = [
        [f"{one['jobs']}", figure(one["seconds"], 0), figure(one["processor s"], 0), figure(one["GiB"], 1)]
        for one in records
    ]
    return f"""
`lpb reproduce regret-curves vary-both vary-states vary-noise --threads 1`, with `--jobs 1` and with `--jobs 2`. The
results are bit-identical. Seconds are wall time, with kernels compiled before, including the start of processes and the
charts. With other load, or fewer than two free cores, two processes gain less (load before the run:
{records[0]["load"]:.1f}).

{table(["processes", "seconds", "CPU seconds", "GiB, all processes"], rows)}
"""


def beyond(results: Results) -> str:
    records = results.table("beyond")
    return f"""
`lpb fit 'ratings/*.parquet' --states 5 --max-memory 8GB` on 250,000, 500,000 and a million people with 200 ratings
each, of 2,000 actions, in Parquet files; the ratings of a person are spread over many files ([how it works](scale.md)).
Seconds are wall time, and memory is the observed peak of all processes together. All fits of a log give the same model;
the last column is its hash.

{_fits(records)}

![Seconds of a fit by the number of ratings](benchmarks/beyond.svg)

**Cost per additional million ratings**, by linear fits to the three sizes; the intercept is in parentheses.

{_slopes(results.table("beyond-slopes"))}

On disk, a rating took {_most(records, "log bytes")} bytes in the log and, during a fit, at most
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
    return table(["", "seconds", "CPU seconds", "GiB", "model"], rows)


def _slopes(records: Records) -> str:
    kinds = ("s", "processor s", "GiB")
    rows = [
        [one["way"], *(f"{one[f'{kind} a million']:.3g} ({one[f'{kind} at none']:.2g})" for kind in kinds)]
        for one in records
    ]
    return table(["", "seconds", "CPU seconds", "GiB"], rows)


def _most(records: Records, name: str) -> str:
    return f"{max(float(one[name]) for one in records):.1f}"
