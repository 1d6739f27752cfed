"""The report of the bounds: tables, sentences and files."""

from collections.abc import Mapping
from pathlib import Path

from lpbandits.simulation.bounds import AXES, Bounds, memory_budget, table_against
from lpbandits.simulation.results import versions
from lpbandits.typing import Json
from lpbandits.views.charts.base import Chart, deferred_validation
from lpbandits.views.charts.bounds import (
    Found,
    against_chart,
    neighbour_chart,
    people_chart,
    rates_chart,
    room_chart,
)
from lpbandits.views.folder import footer, save_report
from lpbandits.views.names import name_of
from lpbandits.views.page import Section, Table
from lpbandits.views.tables import gaps_of, noise_of

FORMAT = "lpbandits-bounds"
VERSION = 1


def bound_table(bounds: Bounds) -> tuple[list[str], list[list[str]]]:
    """Return the bounds as columns and rows of text for people."""
    found = bounds.summary()
    rows = []
    for name, (title, knows) in _BOUNDS.items():
        printed = found["printed"].get(name)
        rows.append([title, knows, *_cells(found["bounds"][name]), "" if printed is None else _printed(printed)])
    rows += [[f"{name_of(name)}, measured", "", *_cells(spread), ""] for name, spread in found["growth"].items()]
    return ["regret per log T", "policy", "mean", "± se", "sd", "median", "as printed"], rows


@deferred_validation
def save_bounds(bounds: Bounds, studies: Mapping[str, Found], folder: str | Path) -> Path:
    """Write tables (Parquet), a manifest, charts (PNG and SVG) and an HTML report; return the report's path."""
    tables = {"people": bounds.table()}
    charts: dict[str, Chart] = {"people": people_chart(bounds), "rates": rates_chart(bounds)}
    sections = [Section("Three bounds", _HOW_TO_READ, charts, [Table(*bound_table(bounds))])]
    for axis, found in studies.items():
        name = f"against-{axis}"
        tables[name] = table_against(found)
        charts = {name: against_chart(tables[name], axis)}
        if "lpbts" in found[0][1].growth():
            charts[f"room-{axis}"] = room_chart(found, axis)
        sections.append(Section(f"Against {AXES[axis][0]}", findings(found), charts))
    sections.append(Section("Why many actions help", _WHY, {"neighbour": neighbour_chart()}))
    return save_report(
        folder,
        title="How little regret is possible",
        lead=described(bounds) + ".",
        sections=sections,
        foot=footer(bounds.seconds + sum(b.seconds for found in studies.values() for _, b in found)),
        tables=tables,
        manifest={"format": FORMAT, "version": VERSION, **content_of(bounds, studies), "versions": versions()},
    )


def content_of(bounds: Bounds, studies: Mapping[str, Found]) -> Json:
    """Return everything as the JSON object that `lpb bound --json` prints."""
    content = bounds.to_dict()
    if studies:
        content["against"] = {
            axis: [{"value": value, **at.summary()} for value, at in found] for axis, found in studies.items()
        }
    return content


def described(bounds: Bounds) -> str:
    """Return the settings of a run in one line.

    >>> from lpbandits import SyntheticWorld
    >>> from lpbandits.simulation.bounds import bound_world
    >>> described(bound_world(SyntheticWorld(states=3, actions=4), people=2))
    '3 states, 4 actions, gap 0.2, noise 1, 2 people, seed 0'
    """
    s = bounds.settings
    words = [f"{s['states']} states", f"{s['actions']} actions"]
    words += [gaps_of(s)] if "gap" in s else []
    words += [noise_of(s), f"{s['people']} people"]
    words += [f"seed {s['seed']}"] if "seed" in s else []
    return ", ".join(words)


def findings(found: Found) -> list[str]:
    """Return what a study says, in sentences that follow its numbers whichever way they fall."""
    ends = [(x, bounds.column("preference").mean()) for x, bounds in (found[0], found[-1])]
    (x0, v0), (x1, v1) = ends
    word = "falls" if v1 < v0 else "rises"
    out = [f"The bound of a policy that knows the orderings {word} from {v0:.2g} at {x0:g} to {v1:.2g} at {x1:g}."]
    if "lpbts" in found[0][1].growth():
        rooms = [(x, *memory_budget(bounds, "lpbts")) for x, bounds in found]
        words = ", ".join(f"{ratio:.1f} ± {se:.1f} at {x:g}" for x, ratio, se in rooms)
        rounds = found[0][1].settings["rounds"]
        out.append(
            f"From round {rounds // 10:,} to {rounds:,}, lpbTS's regret grows by this many times its bound: {words}. "
            "What is above 1 is room for a better policy."
        )
    return out


_BOUNDS = {
    "plain": ("plain bandit", "knows nothing"),
    "preference": ("latent preference bandit", "knows the orderings"),
    "latent": ("latent bandit", "knows the means"),
}
_HOW_TO_READ = [
    "Whatever a policy does, if it does well on everyone then its regret on a person grows at least like C log T. C "
    "depends on the person and on what the policy knows: nothing, the possible orderings, or the possible means.",
    "The second is Theorem 1 with the best action's mean held fixed: that action is played without limit, so means "
    "that disagree on it are found out for free. The theorem as printed lets them disagree, and is larger. With "
    "the means known (the latent bandit) the best action alone tells random states apart, and regret need not grow at "
    "all; as printed its bound is positive. All are asymptotic: over a finite run regret may grow more slowly.",
]
_WHY = [
    "Two random orderings are hardly ever alike, and the more actions there are, the more the true state stands out: "
    "from k = 6 on, even the nearest of k random states orders a growing share of all pairs differently. A wrong "
    "state then has to explain away more of what is seen, and the bound falls.",
]


def _cells(spread: Mapping[str, float | None]) -> list[str]:
    if spread["mean"] is None:
        return ["–"] * 4
    return [f"{spread[name]:.3g}" for name in ("mean", "se", "sd", "median")]


def _printed(spread: Mapping[str, float | None]) -> str:
    mean = "–" if spread["mean"] is None else f"{spread['mean']:.3g}"
    return f"{mean} (+{spread['infinite']} infinite)" if spread["infinite"] else mean
