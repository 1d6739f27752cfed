"""The speed table of README.md, between two markers, written from benchmarks/results.json."""

from benchmarks.markdown import table, times
from benchmarks.results import Results

BEGIN = "<!-- speed: written by `python -m benchmarks page` -->"
END = "<!-- end of speed -->"
SHOWN = {
    ("core", "simulator vs SciPy loop, m=5 k=10"): "simulator against the SciPy loop, 5 states, 10 actions",
    ("core", "simulator vs SciPy loop, m=10 k=20"): "… 10 states, 20 actions",
    ("core", "simulator vs SciPy loop, m=50 k=50"): "… 50 states, 50 actions",
    ("core", "simulator vs SciPy loop, m=100 k=20"): "… 100 states, 20 actions",
    (
        "core",
        "simulator vs scikit-learn loop, m=5 k=10",
    ): "simulator against the scikit-learn loop, 5 states, 10 actions",
    ("core", "Agent ask + tell vs SciPy loop, m=5 k=10"): "`Agent` ask + tell, checks included, against the SciPy loop",
    ("decide", "decide vs a loop of agents, k=10, m=5, 10 tried"): (
        "`decide` for people with ten outcomes, with probability, runner-up and forecast, against a loop of agents"
    ),
    ("decide", "decide vs SciPy loop, k=10, m=5, 10 tried"): "… against one fit per state with SciPy",
    ("recovery", "pair counts vs scipy.sparse, MovieLens-32M shape"): (
        "pair counts at MovieLens-32M shape against `scipy.sparse` products"
    ),
    ("bradley_terry", "Bradley-Terry vs choix ilsr_pairwise_dense, k=1132"): (
        "Bradley-Terry at 1,132 actions against choix's `ilsr_pairwise_dense`"
    ),
}
"""Rows of the results by group, with their text in the table."""


def block(results: Results) -> str:
    """Return the table with its markers."""
    rows = [[words, times(results.row(*which).value)] for which, words in SHOWN.items()]
    days = sorted({results.groups[group].get("day", results.about["day"]) for group, _ in SHOWN})
    head = [f"CPU time, best of interleaved repeats, {' to '.join(dict.fromkeys((days[0], days[-1])))}", "ratio"]
    return f"{BEGIN}\n{table(head, rows)}\n{END}"


def renewed(text: str, results: Results) -> str:
    """Return a text with an updated table.

    >>> renewed("no marks", Results({}, {}))
    Traceback (most recent call last):
    ...
    SystemExit: README.md has no markers of the speed table; restore them
    """
    before, begin, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not (begin and end):
        raise SystemExit("README.md has no markers of the speed table; restore them")
    return f"{before}{block(results)}{after}"
