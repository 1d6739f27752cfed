"""Reports of simulations: of one comparison of policies, and of the demo, the paper's main comparison."""

from pathlib import Path

import polars as pl

from lpbandits.errors import translate_errors
from lpbandits.io.paths import as_path
from lpbandits.progress import Progress
from lpbandits.simulation import Results, simulate
from lpbandits.statistics import t_multiplier
from lpbandits.text import pluralize
from lpbandits.views.charts.base import Chart, deferred_validation, grid
from lpbandits.views.charts.policies import final_chart, round_chart, top_of
from lpbandits.views.folder import footer, save_report
from lpbandits.views.page import Section, Table
from lpbandits.views.tables import comparison, comparison_note, described, number
from lpbandits.worlds import SyntheticWorld

HOW_TO_READ = (
    "Regret is the reward that a person lost by not receiving their best action in every round; lower is better. Lines "
    "are means over people, bands one standard deviation, and bars at the line ends one standard error of the mean "
    "(over draws of the orderings, if there are several). All policies face the same people and the same random draws."
)
DEMO_POLICIES = ("lpbts", "mts", "ts", "ts-top")
SCALES = {"same": "Same scale: people of a state share mean rewards", "different": "Different scales: one per person"}
STATE_NOTE = (
    "The posterior probability that each policy gives to the person's true state by its own evidence, averaged over "
    "people. For lpbTS it is an optimistic bound, not a calibrated probability."
)
STOP_NOTE = (
    "People stopped when the confidence that an action is the best for them reached {:.0%}, and then received this "
    "action. Columns: the share of people who stopped, their mean number of rounds until then, and the share whose "
    "action was the best. The confidence is that of the orderings, the same for every policy."
)


def charts_of(results: Results, *, title: str = "Cumulative regret", limit: float | None = None) -> dict[str, Chart]:
    """Return the charts of a simulation by file name; `limit` is the top of the regret axis."""
    curves = results.curves()
    x, y = ("duel", "cumulative strong regret") if results.duels else ("round", "cumulative regret")
    charts = {
        "regret": round_chart(curves, title=title, limit=limit, along=x, of=y),
        "people": final_chart(results.people(), title="Regret per person"),
    }
    with_states = curves.filter(pl.col("true_state").is_not_nan())
    if len(with_states):
        title, y = "Probability of the true state", "probability of the true state"
        charts["state"] = round_chart(with_states, "true_state", title=title, limit=1.0, of=y)
    return charts


def sections(results: Results) -> list[Section]:
    """Return the sections of the report of a simulation."""
    charts = charts_of(results)
    state = charts.pop("state", None)
    notes = [HOW_TO_READ, *([STOP_NOTE.format(results.settings["stop"])] if "stop" in results.settings else [])]
    parts = [Section("Regret", notes, charts, [_table(results)])]
    return parts if state is None else [*parts, Section("True state", [STATE_NOTE], {"state": state})]


@deferred_validation
def save_comparison(results: Results, folder: str | Path) -> Path:
    """Write tables, charts (PNG and SVG) and an HTML report of a simulation; return the report's path."""
    return save_report(
        folder,
        title="Comparison of policies",
        lead=described(results) + ".",
        sections=sections(results),
        foot=footer(results.seconds),
        tables=results.tables(),
        manifest=results.manifest(),
    )


@translate_errors("running the demo")
@deferred_validation
def run_demo(
    folder: str | Path, *, seed: int = 0, draws: int = 10, progress: Progress | None = None
) -> dict[str, Results]:
    """Compare lpbTS, mTS, TS and TS on the top actions and write a report; return the results by scale.

    There are 5 states, 10 actions, 50 people per state and 200 rounds.
    """
    out = as_path(folder)
    results: dict[str, Results] = {}
    for scale in SCALES:
        world = SyntheticWorld(states=5, actions=10, scale=scale)
        results[scale] = simulate(world, DEMO_POLICIES, draws=draws, seed=seed, progress=progress)
        results[scale].save(out / scale)
    save_report(
        out,
        title="Latent preference bandits",
        lead="Each person has one of a few latent states, and each state is a preference ordering of the actions. How "
        "much does a policy lose that knows the orderings but not how a person rates?",
        sections=_sections(results),
        foot=footer(sum(result.seconds for result in results.values())),
    )
    return results


def findings(results: dict[str, Results]) -> list[str]:
    """Summarize the results in sentences."""
    same, different = (
        {name: number(float(results[scale][name].regret.mean[-1])) for name in DEMO_POLICIES} for scale in SCALES
    )
    draws = results["different"].people()["draw"].n_unique()
    gap, error = results["different"].difference("lpbts", "mts")
    top_gap, top_error = results["different"].difference("lpbts", "ts-top")
    if abs(top_gap) <= t_multiplier(draws) * top_error:
        verdict = (
            f"the difference is not significant with {pluralize(draws, 'draw')} of the orderings. Full orderings help "
            "with more states: lpb simulate --states 20 --actions 20 --draws 10"
        )
    else:
        verdict = "knowing the full orderings helps." if top_gap < 0 else "the full orderings do not help here."
    return [
        f"Same scale: regret is {same['mts']} for mTS, which knows the mean rewards of every state, {same['lpbts']} "
        f"for lpbTS, which knows only the orderings, and {same['ts']} for TS, which knows nothing.",
        f"Different scales: regret is {different['lpbts']} for lpbTS and {different['mts']} for mTS, because the means "
        f"that mTS knows no longer fit each person (lpbTS − mTS = {_signed(gap)} ± {number(error)}).",
        f"Different scales: regret is {different['ts-top']} for TS limited to the best action of each state "
        f"(lpbTS − TS, top actions = {_signed(top_gap)} ± {number(top_error)}); {verdict}",
    ]


def _table(results: Results) -> Table:
    return Table(*comparison(results), note=comparison_note(results))


def _signed(value: float) -> str:
    return number(value).replace("-", "−")


def _sections(results: dict[str, Results]) -> list[Section]:
    """Return one section with the regret on both scales, and one with further charts per scale."""
    limit = top_of(*(result.curves() for result in results.values()))
    charts = {
        scale: charts_of(result, title=f"{scale.capitalize()} scale{'s' * (scale == 'different')}", limit=limit)
        for scale, result in results.items()
    }
    regret = grid(charts[scale].pop("regret") for scale in SCALES)
    return [
        Section("Cumulative regret", [HOW_TO_READ, *findings(results)], {"regret": regret}),
        *(
            Section(
                title,
                [described(results[scale]) + "."],
                {f"{name}-{scale}": chart for name, chart in charts[scale].items()},
                [_table(results[scale])],
            )
            for scale, title in SCALES.items()
        ),
    ]
