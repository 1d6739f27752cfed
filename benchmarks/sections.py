"""The sections of docs/benchmarks.md, written from the tables in results.json."""

from collections.abc import Callable

from benchmarks import sections_scale
from benchmarks.agents import RESTORE
from benchmarks.bend import through
from benchmarks.charts import burns_in
from benchmarks.markdown import Records, figure, missing, pivot, small, table, times
from benchmarks.measure import seconds
from benchmarks.results import Results
from benchmarks.start import REPEATS as START_REPEATS

OURS = "lpbandits"


def thompson(results: Results) -> str:
    played = [one for one in results.table("thompson-simulation") if not burns_in(one)]
    simulated = pivot(played, along="k", value="µs", unit=1e-6, ours=OURS)
    return f"""
`lpb.TS` has its default settings: the prior of every mean is N(0, 100²), and rewards have noise 1. Other packages get
the same prior and noise if they accept them, otherwise the settings with the least regret here. k is the number of
actions.

**One decision**: ask and tell, after every action was tried twice.

{pivot(results.table("thompson-decision"), along="k", value="µs", unit=1e-6, ours=OURS)}

![Time of one decision by the number of actions](benchmarks/thompson-decision.svg)

**A simulation** of 200 rounds; times are per decision. lpbandits is `lpb.simulation.rollout` on one thread. The fastest
numpy loop plays one round of all people at once. Each other package plays in a plain loop; packages that need more than
two seconds play only the first rounds. river's first k rounds are its burn-in, in which it makes no decisions.

{simulated}

![Time of a decision in a simulation by the number of actions](benchmarks/thompson-simulation.svg)

**Regret**, with the same people and the same random draws (the paper's world; each person has an individual scale and
ordering). The last column is the difference from the numpy loop, paired by person; ± 0.0 means identical decisions.
Slow packages were run on fewer people. [The goals](#all-goals) compare lpbandits with the numpy loop on 20 times as
many people.

{_regrets(results.table("thompson-regret"))}

![Regret of each package](benchmarks/thompson-regret.svg)

Why they differ:

{_reasons(results.table("thompson-regret"))}

{_burn_ins(results.table("thompson-burn-in"))}
{missing(results.table("thompson-missing"))}
"""


def _regrets(records: Records) -> str:
    rows = []
    for one in records:
        gap = "" if one["who"] == "numpy loop" else f"{one['more than exact']:+.1f} ± {one['its se']:.1f}"
        found = f"{one['regret']:,.1f} ± {one['se']:.1f}"
        rows.append(
            [one["who"], f"{one['k']}", f"{one['rounds']}", f"{one['people']:,}", found, f"{one['sd']:.0f}", gap]
        )
    return table(["", "k", "rounds", "people", "regret ± s.e.", "sd over people", "minus the numpy loop"], rows)


def _reasons(records: Records) -> str:
    return "\n".join(f"- **{who}** {why}." for who, why in {one["who"]: one["why"] for one in records}.items())


def _burn_ins(records: Records) -> str:
    if not records:
        return ""
    found = ", ".join(f"{one['burn_in']}: {one['regret']:.0f} ± {one['se']:.0f}" for one in records)
    best = min(records, key=lambda one: float(one["regret"]))["burn_in"]
    return f"Regret of river by `burn_in`, on other people: {found}. The best value is {best}."


def growth(results: Results) -> str:
    return f"""
The loops are straightforward implementations: they call `scipy.optimize.isotonic_regression`, or scikit-learn's
`IsotonicRegression`, for each state in each round, with the tried actions only. The table has the time of one decision
and, in parentheses, its ratio to the simulator's. m is the number of states, k the number of actions.

{_grid(results.table("growth-grid"))}

![Time of lpbTS by people, rounds, states and actions, with fitted lines](benchmarks/growth.svg)

**Exponents** b of time ≈ a · size^b are least-squares fits to the logarithms. They are for the total time by people and
rounds, and for the time of one decision by states (with 20 actions) and by actions (with 5 states). Each exponent holds
over the sizes in parentheses; a line with a bend has two exponents, and the bend is placed where the fit is best.

- *States*: with few states, the fixed cost of an `Agent` exceeds the cost of its states.
- *Actions*: the set of tried actions does not grow with k, because lpbTS plays only the best actions of states. The
  simulator's time still grows slightly, because it finds the best action of each person once to compute the regret. The
  fixed costs of the loops exceed their cost per action up to thousands of actions.

{_exponents(results.table("growth-points"))}
"""


def _grid(records: Records) -> str:
    found = {(one["who"], one["m"], one["k"]): one["µs"] for one in records}
    names = list(dict.fromkeys(one["who"] for one in records))
    rows = []
    for m, k in dict.fromkeys((one["m"], one["k"]) for one in records):
        first = found[names[0], m, k]
        rest = [f"{seconds(1e-6 * found[who, m, k])} ({times(found[who, m, k] / first)})" for who in names[1:]]
        rows.append([f"m = {m}, k = {k:,}", seconds(1e-6 * first), *rest])
    return table(["", *names], rows)


def _exponents(records: Records) -> str:
    names = {"people": "people", "rounds": "rounds", "m": "states m", "k": "actions k"}
    rows = []
    for who in dict.fromkeys(one["who"] for one in records):
        mine = {along: [one for one in records if (one["who"], one["along"]) == (who, along)] for along in names}
        rows.append([who, *(_exponent(points, along) for along, points in mine.items())])
    return table(["", *names.values()], rows)


def _exponent(points: Records, along: str) -> str:
    if not points:
        return "–"
    took = [one["seconds" if along in ("people", "rounds") else "µs"] for one in points]
    return through([one["size"] for one in points], took).in_words()


def bradley_terry(results: Results) -> str:
    records = results.table("bradley-terry")
    return f"""
The true utilities are standard normal, and every pair is compared 20 times. Each package gets its own input format,
prepared before timing starts. `prior` marks a Gaussian prior with standard deviation 1 on utilities; the other fits
maximise the likelihood. *Error* is the root mean square difference from the true utilities. *Distance* is the largest
difference of a utility from the optimum of the package's objective, computed by Newton's method with a dense Hessian.

{_fits(records)}

![Time of a fit by the number of actions](benchmarks/bradley-terry.svg)

**An action that never wins** has no finite utility without a prior. Here one of 20 actions lost all of its comparisons:

{_never(results.table("bradley-terry-never"))}
"""


def _fits(records: Records) -> str:
    ours = {one["k"]: one["ms"] for one in records if one["who"] == OURS}
    rows = []
    for one in records:
        name = f"{one['who']}{', prior' if one['prior'] else ''}"
        if one["missing"]:
            rows.append([name, f"{one['k']:,}", one["missing"], "–", "–"])
            continue
        ratio = "" if one["who"] == OURS else f" ({times(one['ms'] / ours[one['k']])})"
        cells = [
            f"{one['k']:,}",
            f"{seconds(1e-3 * one['ms'])}{ratio}",
            figure(one["error"], 3),
            small(one["from optimum"]),
        ]
        rows.append([name, *cells])
    return table(["", "k", "time", "error", "distance"], rows)


def _never(records: Records) -> str:
    rows = [[one["who"], one["outcome"], figure(one["utility"]), small(one["others off"])] for one in records]
    return table(
        ["", "result", "its utility minus the mean of the others", "distance of the others from their optimum"],
        rows,
        left=2,
    )


def references(results: Results) -> str:
    parts = []
    for log in results.table("references-logs"):
        mine = [one for one in results.table("references") if one["log"] == log["log"]]
        parts.append(
            f"**{log['log']}**: {log['ratings']:,} ratings of {log['actions']:,} actions by {log['people']:,} people; "
            f"{log['fitted']:,} are in the training set, {log['development']:,} were used to select settings and then "
            f"added to the training set, and {log['replayed']:,} are replayed.\n\n{_scores(mine)}"
        )
    return f"""
The protocol is that of [`lpb evaluate`](commands/evaluate.md). All recommenders have the same information: the ratings
of the training set and, of a replayed person, only the rewards of the actions played so far. They choose among the
actions that the person rated, each once, for at most 20 rounds. Scores are (mean reward − the person's mean rating) /
the person's standard deviation. The settings of all recommenders are selected on the same development set. Popularity
breaks ties, and decides before the first reward; settings under which all scores of a package tie are not selected.
`taste` comes from a fit with five states and default settings.

`implicit` is made for clicks and purchases. It gets the ratings as weights, or an indicator of ratings above the mean,
whichever scored better. `surprise` cannot add a person after fitting, so its formulas are reimplemented for new people:
KNNBaseline as in its `estimate`, and SVD as a ridge regression on its factors with its own penalty. Fits use one thread
and data in the package's input format.

{(chr(10) * 2).join(parts)}

![Scores of recommenders](benchmarks/references.svg)
{missing(results.table("references-missing"))}
"""


def _scores(records: Records) -> str:
    rows = []
    for one in sorted(records, key=lambda one: -float(one["score"])):
        gap = "" if one["who"] == "item-knn" else f"{one['over item-knn']:+.3f} ± {one['its se']:.3f}"
        cells = [f"{one['score']:.3f} ± {one['se']:.3f}", gap, "" if one["fit s"] is None else seconds(one["fit s"])]
        rows.append([one["who"], one["settings"], *cells, seconds(1e-6 * one["µs a decision"])])
    return table(["", "settings", "score ± s.e.", "minus item-knn", "time of a fit", "of a decision"], rows, left=2)


def memory(results: Results) -> str:
    worked = [[one["what"], _mib(one["peak MiB"]), figure(one["seconds"], 1)] for one in results.table("memory-work")]
    imported = [
        [one["what"], _mib(one["peak MiB"]) if not one["missing"] else one["missing"], figure(one["seconds"])]
        for one in results.table("memory-imports")
    ]
    return f"""
Peak resident memory of a separate process.

**Long computations**, on one thread, including the data and all imports:

{table(["", "MiB", "CPU seconds"], worked)}

**Many people at once**: one agent per person, Thompson sampling with 10 actions, 20 outcomes each. lpbandits keeps
every outcome, so that it can be retracted.

{_agents(results.table("memory-agents"))}

![Memory of one agent](benchmarks/memory-agents.svg)

**Imports**. lpbandits loads its modules when they are first used, so their cost is part of
[the first decision](#the-first-decision-of-a-process):

{table(["", "MiB", "CPU seconds"], imported)}
"""


def _mib(value: float | None) -> str:
    return "–" if value is None else f"{value:,.0f}"


def _agents(records: Records) -> str:
    rows = [
        [one["who"], f"{one['agents']:,}", one["missing"] or f"{one['KiB each']:.3g}", _mib(one["peak MiB"])]
        for one in records
    ]
    return table(["", "agents", "KiB per agent", "MiB in total"], rows)


def start(results: Results) -> str:
    rows = [
        [one["who"], figure(one["cold s"], 1), one["missing"] or figure(one["warm s"])]
        for one in results.table("start")
    ]
    return f"""
CPU seconds of a new process that makes one decision and learns its outcome, including imports. `lpbandits` compiles its
kernels at the first call and caches the machine code; the other packages do not compile. *numba alone* is a process
that only compiles and calls a function that adds 1.

{table(["", "nothing compiled", "compiled before"], rows)}

Parts of the time of an `Agent` of lpbTS, compiled before, in the fastest of {START_REPEATS} runs:

{table(["", "CPU seconds"], [[one["part"], figure(one["s"])] for one in results.table("start-parts")])}
"""


def agents(results: Results) -> str:
    records = results.table("agents")
    ours = next(float(one["µs"]) for one in records if one["what"] == RESTORE)
    rows = [[one["what"], seconds(float(one["µs"]) * 1e-6), f"{float(one['µs']) / ours:.2g}×"] for one in records]
    return f"""
A [service](agent.md#a-service-with-millions-of-people) that keeps one packed belief per person builds an agent for each
request. lpbTS with 8 states and 50 actions; the person has ten outcomes, of ten actions. The ratio is to restoring the
agent. SciPy's fits are those of `scipy.optimize.isotonic_regression`, without any checks or an agent.

{table(["", "time", "ratio"], rows)}
"""


SECTIONS: dict[str, tuple[str, Callable[[Results], str]]] = {
    "thompson": ("Gaussian Thompson sampling", thompson),
    "growth": ("lpbTS: time by size", growth),
    "agents": ("An agent for each request", agents),
    "bradley_terry": ("Bradley-Terry", bradley_terry),
    "references": ("Recommenders", references),
    "fit": ("A complete fit", sections_scale.fit),
    "processes": ("Two processes", sections_scale.processes),
    "beyond": ("Fits of logs larger than memory", sections_scale.beyond),
    "memory": ("Memory", memory),
    "start": ("The first decision of a process", start),
}
"""Heading and text of each group."""
