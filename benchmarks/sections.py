"""The sections of docs/benchmarks.md: what was asked, how, and what came out, of the tables in results.json."""

from collections.abc import Callable

from benchmarks import sections_scale
from benchmarks.bend import through
from benchmarks.charts import burns_in
from benchmarks.markdown import Records, figure, missing, pivot, small, table, times
from benchmarks.measure import seconds
from benchmarks.results import Results

OURS = "lpbandits"


def thompson(results: Results) -> str:
    played = [one for one in results.table("thompson-simulation") if not burns_in(one)]
    simulated = pivot(played, along="k", value="µs", unit=1e-6, ours=OURS)
    return f"""
Every action has a mean with the prior N(0, 100²), and rewards have noise 1: `lpb.TS`, as it is registered. Peers
get the same prior and noise where they take them, and otherwise the settings in which they do best here.

**One decision**, ask and tell, when every action was tried twice:

{pivot(results.table("thompson-decision"), along="k", value="µs", unit=1e-6, ours=OURS)}

![Time of one decision by the number of actions](benchmarks/thompson-decision.svg)

**A simulation** of 200 rounds, per decision: `lpb.simulation.rollout` on one thread; numpy for all people at once,
the fastest loop that it allows; and each package in a loop of its own. Whoever needs more than two seconds for it
played the first rounds only. river's first k rounds are its burn-in, in which it decides nothing.

{simulated}

![Time of a decision in a simulation by the number of actions](benchmarks/thompson-simulation.svg)

**The regret each reaches** with the same people and the same random draws (the paper's world, each person
on their own scale and with an ordering of their own). The difference from the numpy loop is between the same people;
± 0.0 means the very same draws. Slow packages met fewer people. [The goals](#all-goals) compare ours with the loop over
20 times as many.

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
    return table(["", "k", "rounds", "people", "regret ± s.e.", "sd over people", "less the exact loop's"], rows)


def _reasons(records: Records) -> str:
    return "\n".join(f"- **{who}** {why}." for who, why in {one["who"]: one["why"] for one in records}.items())


def _burn_ins(records: Records) -> str:
    if not records:
        return ""
    found = ", ".join(f"{one['burn_in']}: {one['regret']:.0f} ± {one['se']:.0f}" for one in records)
    best = min(records, key=lambda one: float(one["regret"]))["burn_in"]
    return f"Regret of river by its `burn_in`, with other people: {found}. The best is {best}."


def growth(results: Results) -> str:
    return f"""
The loops are those that anyone would write: `scipy.optimize.isotonic_regression`, or scikit-learn's
`IsotonicRegression`, per state per round, fitted to tried actions only. One decision, and how many times the
simulator's:

{_grid(results.table("growth-grid"))}

![Time of lpbTS by people, rounds, states and actions, with fitted lines](benchmarks/growth.svg)

**Exponents** b of time ≈ a · size^b, by least squares of the logarithms: all of the time by people and rounds, that
of one decision by states (20 actions) and actions (5 states). Each holds over the sizes in brackets; a line that bends
has two, with the bend where it fits best. By states, the fixed cost of an `Agent` hides at first what each state
adds. When actions grow, the set of tried ones does not: lpbTS plays only what some state likes best. What is left of k
in the simulator is finding each person's best action, once a person, to know the regret; the loops' fixed costs hide
theirs until there are thousands.

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
Planted utilities are standard normal, every pair met 20 times. Everybody gets the comparisons in the form they
take, made before the clock runs. `prior` marks a Gaussian prior of deviation 1 on utilities; the others maximise
the likelihood alone. The error is the root mean square from the planted utilities. The distance is the largest of a
utility from the optimum of the package's own criterion, found by Newton's method with a dense Hessian.

{_fits(records)}

![Time of a fit by the number of actions](benchmarks/bradley-terry.svg)

**An action that never wins** has no finite utility without a prior. One of 20 actions lost all of its comparisons:

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
        ["", "what comes back", "its utility, less the others' mean", "others from their optimum"], rows, left=2
    )


def references(results: Results) -> str:
    parts = []
    for log in results.table("references-logs"):
        mine = [one for one in results.table("references") if one["log"] == log["log"]]
        parts.append(
            f"**{log['log']}**: {log['ratings']:,} ratings of {log['actions']:,} actions by {log['people']:,} people; "
            f"{log['fitted']:,} were fitted, {log['development']:,} chose settings and then were fitted, too, and "
            f"{log['replayed']:,} were replayed.\n\n{_scores(mine)}"
        )
    return f"""
The protocol is that of [`lpb evaluate`](commands/evaluate.md). All have the same information: the ratings of the
people fitted, and of a replayed person nothing but the rewards of what they had so far. They choose among what the
person rated, each action once, for at most 20 rounds; scores are in units of the person's own ratings. Settings of
peers were chosen by the same development people as the constants of ours. Before the first reward, and in ties,
what is popular decides; a setting under which all scores of a peer tie is not chosen. `taste` has five states and
the settings that a fit takes by itself.

`implicit` is made for clicks and purchases, not for ratings: it is told ratings as weights, or which of them are
above the mean, whichever did better. `surprise` cannot take in a person after the fit: its formulas are written out
for them, that of KNNBaseline as its own estimate has it, for SVD a ridge regression on its factors with its own
penalty. Fits are on one thread, of data in the form that the package takes.

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
    return table(["", "settings", "score ± s.e.", "over item-knn", "fit", "a decision"], rows, left=2)


def memory(results: Results) -> str:
    worked = [[one["what"], _mib(one["peak MiB"]), figure(one["seconds"], 1)] for one in results.table("memory-work")]
    imported = [
        [one["what"], _mib(one["peak MiB"]) if not one["missing"] else one["missing"], figure(one["seconds"])]
        for one in results.table("memory-imports")
    ]
    return f"""
The most that a process of its own ever held (its resident set). **Long work**, on one thread, with the data and all
imports in it:

{table(["", "MiB", "processor seconds"], worked)}

**Many people at a time**: an agent each, Thompson sampling with 10 actions, 20 outcomes told. Ours keeps every
outcome, so that any of them can be taken back.

{_agents(results.table("memory-agents"))}

![Memory of one agent](benchmarks/memory-agents.svg)

**An import**; that of lpbandits loads nothing until it is used, so that its cost is in
[the first decision](#the-first-decision-of-a-process):

{table(["", "MiB", "processor seconds"], imported)}
"""


def _mib(value: float | None) -> str:
    return "–" if value is None else f"{value:,.0f}"


def _agents(records: Records) -> str:
    rows = [
        [one["who"], f"{one['agents']:,}", one["missing"] or f"{one['KiB each']:.3g}", _mib(one["peak MiB"])]
        for one in records
    ]
    return table(["", "agents", "KiB each", "MiB in all"], rows)


def start(results: Results) -> str:
    rows = [
        [one["who"], figure(one["cold s"], 1), one["missing"] or figure(one["warm s"])]
        for one in results.table("start")
    ]
    return f"""
Processor seconds of a new process until one decision is made and told, imports included. `lpbandits` compiles at
the first call and keeps the machine code; the others have nothing to compile, but for numba alone: a process that
does nothing but call a function that adds 1.

{table(["", "nothing compiled", "compiled before"], rows)}

Where the seconds of an `Agent` of lpbTS go, compiled before, in the quickest of as many runs:

{table(["", "processor seconds"], [[one["part"], figure(one["s"])] for one in results.table("start-parts")])}
"""


SECTIONS: dict[str, tuple[str, Callable[[Results], str]]] = {
    "thompson": ("Gaussian Thompson sampling", thompson),
    "growth": ("lpbTS, and how time grows", growth),
    "bradley_terry": ("Bradley-Terry", bradley_terry),
    "references": ("Recommenders", references),
    "fit": ("A whole fit", sections_scale.fit),
    "processes": ("Two processes", sections_scale.processes),
    "beyond": ("Fits beyond memory", sections_scale.beyond),
    "memory": ("Memory", memory),
    "start": ("The first decision of a process", start),
}
"""By group: a heading, and what stands below it."""
