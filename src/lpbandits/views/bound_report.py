"""Tables, charts, files and HTML report of regret lower bounds."""

from collections.abc import Mapping
from pathlib import Path

from lpbandits.simulation.bounds import AXES, Bounds, growth_ratio, table_against
from lpbandits.simulation.results import versions
from lpbandits.text import pluralize, significant
from lpbandits.typing import Json
from lpbandits.views.charts import bounds as charts_of
from lpbandits.views.charts.base import Chart, deferred_validation
from lpbandits.views.charts.bounds import Study
from lpbandits.views.folder import footer, save_report
from lpbandits.views.page import Section, Table
from lpbandits.views.tables import gaps_of, name_of, noise_of

_BOUNDS = {
    "plain": ("plain bandit", "knows nothing"),
    "preference": ("latent preference bandit", "knows the orderings"),
    "latent": ("latent bandit", "knows the means"),
}
_HOW_TO_READ = [
    "The regret of any policy that performs well on all people grows at least like C log T. C depends on the person "
    "and on the knowledge of the policy: none, the possible orderings, or the possible means.",
    "The bound with known orderings is Theorem 1 with the mean of the best action held fixed: a good policy plays this "
    "action without limit and so learns its mean at no cost. The theorem as printed leaves this mean free and gives a "
    "larger bound. With known means (the latent bandit), the best action alone identifies random states, and regret "
    "need not grow; as printed, this bound is positive. All bounds are asymptotic: regret can grow more slowly in a "
    "finite run.",
]
_WHY = [
    "Two random orderings are rarely alike, and the more actions there are, the more the true state differs from the "
    "others: from k = 6 on, even the nearest of k random states orders a growing share of all pairs differently. A "
    "wrong state then contradicts more of the observed rewards, and the bound falls.",
]


def bound_table(bounds: Bounds) -> tuple[list[str], list[list[str]]]:
    """Return the bounds as columns and rows of text."""
    summary = bounds.summary()
    rows = []
    for name, (title, knows) in _BOUNDS.items():
        printed = summary["printed"].get(name)
        cell = "" if printed is None else significant(printed["mean"])
        cell += f" (+{printed['infinite']} infinite)" if printed and printed["infinite"] else ""
        rows.append([title, knows, *_cells(summary["bounds"][name]), cell])
    rows += [[f"{name_of(name)}, measured", "", *_cells(spread), ""] for name, spread in summary["growth"].items()]
    return ["regret per log T", "policy", "mean", "± se", "sd", "median", "as printed"], rows


@deferred_validation
def save_bounds(bounds: Bounds, studies: Mapping[str, Study], folder: str | Path) -> Path:
    """Write tables (Parquet), a manifest, charts (PNG and SVG) and an HTML report; return the report's path."""
    tables = {"people": bounds.table()}
    charts: dict[str, Chart] = {"people": charts_of.people_chart(bounds), "rates": charts_of.rates_chart(bounds)}
    sections = [Section("Three bounds", _HOW_TO_READ, charts, [Table(*bound_table(bounds))])]
    for axis, study in studies.items():
        name = f"against-{axis}"
        tables[name] = table_against(study)
        charts = {name: charts_of.against_chart(tables[name], axis)}
        if "lpbts" in study[0][1].growth:
            charts[f"room-{axis}"] = charts_of.growth_ratio_chart(study, axis)
        sections.append(Section(f"Bounds against {AXES[axis][0]}", findings(study), charts))
    sections.append(Section("Why many actions help", _WHY, {"neighbour": charts_of.neighbour_chart()}))
    return save_report(
        folder,
        title="Lower bounds on regret",
        lead=described(bounds) + ".",
        sections=sections,
        foot=footer(bounds.seconds + sum(at.seconds for study in studies.values() for _, at in study)),
        tables=tables,
        manifest={"format": "lpbandits-bounds", "version": 1, **content_of(bounds, studies), "versions": versions()},
    )


def content_of(bounds: Bounds, studies: Mapping[str, Study]) -> Json:
    """Return the JSON object that `lpb bound --json` prints."""
    content = bounds.to_dict()
    if studies:
        content["against"] = {
            axis: [{"value": value, **at.summary()} for value, at in study] for axis, study in studies.items()
        }
    return content


def described(bounds: Bounds) -> str:
    """Return the settings of the bounds in one line.

    >>> from lpbandits import SyntheticWorld
    >>> from lpbandits.simulation.bounds import bound_world
    >>> described(bound_world(SyntheticWorld(states=3, actions=4), people=2))
    '3 states, 4 actions, gap 0.2, noise 1, 2 people, seed 0'
    """
    s = bounds.settings
    words = [pluralize(s["states"], "state"), pluralize(s["actions"], "action"), gaps_of(s) if "gap" in s else ""]
    words += [noise_of(s), pluralize(s["people"], "person", "people"), f"seed {s['seed']}" if "seed" in s else ""]
    return ", ".join(filter(None, words))


def findings(study: Study) -> list[str]:
    """Summarize a study in sentences."""
    (x0, v0), (x1, v1) = ((x, bounds.column("preference").mean()) for x, bounds in (study[0], study[-1]))
    word = "falls" if v1 < v0 else "rises"
    out = [f"The bound of a policy that knows the orderings {word} from {v0:.2g} at {x0:g} to {v1:.2g} at {x1:g}."]
    if "lpbts" in study[0][1].growth:
        ratios = [(x, *growth_ratio(bounds, "lpbts")) for x, bounds in study]
        words = ", ".join(f"{ratio:.1f} ± {se:.1f} at {x:g}" for x, ratio, se in ratios)
        rounds = study[0][1].settings["rounds"]
        out.append(
            f"From round {rounds // 10:,} to {rounds:,}, the regret of lpbTS grows by this multiple of its bound: "
            f"{words}. A multiple above 1 leaves room for a better policy."
        )
    return out


def _cells(spread: Json) -> list[str]:
    return [significant(spread[name]) for name in ("mean", "se", "sd", "median")]
