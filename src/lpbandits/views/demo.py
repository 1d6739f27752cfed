"""The paper's headline comparison, on both scales."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from lpbandits.simulation import Results, simulate
from lpbandits.simulation.tables import comparison, described
from lpbandits.views.charts import Chart, beside, final_chart, regret_chart, save_chart, state_chart, top_of
from lpbandits.views.compare import foot
from lpbandits.views.report import Section, Table, write_report
from lpbandits.worlds import SyntheticWorld

POLICIES = ("lpbts", "mts", "ts", "ts-top")
SCALES = ("same", "different")
_TITLES = {"same": "Same scale for all people of a state", "different": "Every person on their own scale"}


@dataclass(frozen=True)
class Demo:
    """What the demo made: results by scale, and the files."""

    results: dict[str, Results]
    report: Path
    picture: Path


def run_demo(
    folder: str | Path,
    *,
    seed: int = 0,
    draws: int = 10,
    progress: Callable[[str, int, int], None] | None = None,
) -> Demo:
    """Compare lpbTS, mTS, TS and TS on the top actions (m=5, k=10, 50 people a state, T=200) and write the report."""
    out = Path(folder)
    results: dict[str, Results] = {}
    for scale in SCALES:
        results[scale] = simulate(
            SyntheticWorld(states=5, actions=10, scale=scale), POLICIES, draws=draws, seed=seed, progress=progress
        )
        results[scale].save(out / scale)
    charts = _regret_charts(results)
    picture = save_chart(beside(*charts), out / "regret.png")
    for scale in SCALES:
        save_chart(charts[SCALES.index(scale)], out / f"regret-{scale}.png")
    return Demo(results, _write(out / "report.html", results, charts), picture)


def findings(results: dict[str, Results]) -> list[str]:
    """Return what the numbers say, in sentences that follow them whichever way they fall."""
    end = {scale: {name: float(r[name].regret.mean[-1]) for name in POLICIES} for scale, r in results.items()}
    same, different = end["same"], end["different"]
    gap, error = results["different"].difference("lpbts", "mts")
    top_gap, top_error = results["different"].difference("lpbts", "ts-top")
    if abs(top_gap) <= 2 * top_error:
        verdict = (
            "no clear difference: at this small size, knowing which actions can be best is worth about as much as "
            "knowing whole orderings. They pay off with more states: lpb simulate --states 20 --actions 20 --draws 10"
        )
    else:
        verdict = "knowing the whole orderings helps" if top_gap < 0 else "the orderings do not help here"
    return [
        f"Same scale: mTS, which is told every state's exact mean rewards, loses {same['mts']:.1f}; lpbTS, which is "
        f"told only the orderings, {same['lpbts']:.1f}; TS, which is told nothing, {same['ts']:.1f}.",
        f"Different scales: lpbTS stays at {different['lpbts']:.1f}, while mTS goes to {different['mts']:.1f}: "
        f"its means no longer fit anyone exactly (lpbTS − mTS = {gap:.1f} ± {error:.1f}).",
        f"Plain TS, limited to the states' best actions, loses {different['ts-top']:.1f}; lpbTS − that = "
        f"{top_gap:.1f} ± {top_error:.1f}, {verdict}.",
    ]


def _regret_charts(results: dict[str, Results]) -> list[Chart]:
    curves = {scale: result.curves() for scale, result in results.items()}
    limit = top_of(*curves.values())
    return [regret_chart(curves[scale], title=_TITLES[scale], limit=limit) for scale in SCALES]


def _write(path: Path, results: dict[str, Results], charts: list[Chart]) -> Path:
    sections = [
        Section(
            "Cumulative regret",
            [
                "What a person lost by not getting their best action in every round; lower is better. Lines are means "
                "over people, bands one standard deviation; all policies meet the same people with the same luck.",
                *findings(results),
            ],
            charts,
        )
    ]
    sections += [
        Section(
            _TITLES[scale],
            [described(results[scale]) + "."],
            [
                final_chart(results[scale].people(), title="Regret per person"),
                state_chart(results[scale].curves(), title="Finding the true state"),
            ],
            [Table(*comparison(results[scale]))],
        )
        for scale in SCALES
    ]
    return write_report(
        path,
        title="Latent preference bandits",
        lead="People fall into a few latent states; each state is a preference ordering of the actions. How much does "
        "a policy lose that knows the orderings, but not how anyone rates?",
        sections=sections,
        foot=foot(sum(result.seconds for result in results.values())),
    )
