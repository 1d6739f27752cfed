"""The paper's headline comparison, on both scales."""

from dataclasses import dataclass
from pathlib import Path

from lpbandits.errors import translate_errors
from lpbandits.io.paths import as_path
from lpbandits.progress import Progress
from lpbandits.simulation import Results, simulate
from lpbandits.statistics import t_multiplier
from lpbandits.views.charts.base import deferred_validation, hstack, top_of
from lpbandits.views.comparison_report import HOW_TO_READ, charts_of
from lpbandits.views.folder import footer, save_report
from lpbandits.views.page import Section, Table
from lpbandits.views.tables import comparison, described
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


@translate_errors("running the demo")
@deferred_validation
def run_demo(
    folder: str | Path,
    *,
    seed: int = 0,
    draws: int = 10,
    progress: Progress | None = None,
) -> Demo:
    """Compare lpbTS, mTS, TS and TS on the top actions (m=5, k=10, 50 people a state, T=200) and write the report."""
    out = as_path(folder)
    results: dict[str, Results] = {}
    for scale in SCALES:
        results[scale] = simulate(
            SyntheticWorld(states=5, actions=10, scale=scale), POLICIES, draws=draws, seed=seed, progress=progress
        )
        results[scale].save(out / scale)
    report = save_report(
        out,
        title="Latent preference bandits",
        lead="People fall into a few latent states; each state is a preference ordering of the actions. How much does "
        "a policy lose that knows the orderings, but not how anyone rates?",
        sections=_sections(results),
        foot=footer(sum(result.seconds for result in results.values())),
    )
    return Demo(results, report, out / "regret.png")


def findings(results: dict[str, Results]) -> list[str]:
    """Return what the numbers say, in sentences that follow them whichever way they fall."""
    end = {scale: {name: float(r[name].regret.mean[-1]) for name in POLICIES} for scale, r in results.items()}
    same, different = end["same"], end["different"]
    gap, error = results["different"].difference("lpbts", "mts")
    top_gap, top_error = results["different"].difference("lpbts", "ts-top")
    draws = results["different"].people()["draw"].n_unique()
    if abs(top_gap) <= t_multiplier(draws) * top_error:
        verdict = (
            f"which {draws} draw{'s' * (draws > 1)} of the orderings do{'es' * (draws == 1)} not settle. "
            "Whole orderings pay off with more states: lpb simulate --states 20 --actions 20 --draws 10"
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


def _sections(results: dict[str, Results]) -> list[Section]:
    """Return the regret on both scales in one chart with one axis, then what else there is to see of each scale."""
    limit = top_of(*(result.curves() for result in results.values()))
    charts = {scale: charts_of(result, title=_TITLES[scale], limit=limit) for scale, result in results.items()}
    regret = hstack(*(charts[scale].pop("regret") for scale in SCALES))
    return [
        Section("Cumulative regret", [HOW_TO_READ, *findings(results)], {"regret": regret}),
        *(
            Section(
                _TITLES[scale],
                [described(results[scale]) + "."],
                {f"{name}-{scale}": chart for name, chart in charts[scale].items()},
                [Table(*comparison(results[scale]))],
            )
            for scale in SCALES
        ),
    ]
