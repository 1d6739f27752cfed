"""Names of policies, tables and one-line descriptions of simulation results."""

from collections.abc import Iterable, Sequence

from lpbandits.policies import POLICIES, title_of
from lpbandits.simulation import Results
from lpbandits.text import display, pluralize, unique_labels
from lpbandits.typing import Json

FIXED_ORDERINGS = ("means", "replay")
"""Worlds whose orderings are those of a model: further draws do not change them."""

NAME_WIDTH = 40
"""Maximum number of characters of a policy's name."""


def name_of(policy: str) -> str:
    """Return the name of a policy in tables.

    >>> name_of("ts-top")
    'TS, top actions'
    """
    return display(title_of(policy), NAME_WIDTH)


def names_of(policies: Iterable[str]) -> dict[str, str]:
    """Return a unique name for each policy, independent of their order.

    >>> names_of(["lpbts", "ts", "lpbTS"])
    {'lpbTS': 'lpbTS', 'lpbts': 'lpbTS (2)', 'ts': 'TS'}
    """
    ordered = sorted(set(policies))
    return dict(zip(ordered, unique_labels(map(title_of, ordered), NAME_WIDTH), strict=True))


def numeric_columns(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> list[bool]:
    """Return whether each column holds only numbers, limits such as "<1%" and empty cells; shorter rows are headings.

    >>> numeric_columns(["name", "regret", "n", "0"], [["lpbTS", "−1.5", "", "x"], ["heading"], ["TS", "–", "<3", "3"]])
    [False, True, True, False]
    """
    firsts = [
        [cell[:1] if isinstance(cell, str) else "link" for cell in row] for row in rows if len(row) == len(columns)
    ]
    return [all(first[i] in "-–−+<>0123456789" for first in firsts) for i in range(len(columns))]


def comparison(results: Results) -> tuple[list[str], list[list[str]]]:
    """Return columns and rows of a comparison of policies, lowest regret first."""
    reference, *others = results.policies
    gaps = results.differences()
    columns = ["policy", "knows", "regret", "± se"]
    columns += [f"− {name_of(reference)} [95 %]"] if others else []
    columns += ["sd", "median", "5-95 %"]
    columns += ["weak regret", "both best", "true state"] if results.duels else ["best action", "true state"]
    columns += ["stopped", "rounds", "right"] if "stop" in results.settings else []
    rows = []
    for name, result in sorted(results.policies.items(), key=lambda item: item[1].regret.mean[-1]):
        end = result.regret.last()
        summary = result.to_dict()
        rows.append(
            [
                name_of(name),
                display(POLICIES[name].knows) if name in POLICIES else "",
                *(number(end[part]) for part in ("mean", "se")),
                *([f"{gaps[name]:+.1f}" if name in gaps else ""] if others else []),
                *(number(end[part]) for part in ("sd", "p50")),
                f"{number(end['p05'])}-{number(end['p95'])}",
                *([number(summary["weak_regret"]["mean"])] if results.duels else []),
                *map(percent, (summary["best_share"], summary["true_state"])),
                *stop_cells(result.stop),
            ]
        )
    return columns, rows


def stop_cells(stop: Json | None) -> list[str]:
    """Return the share of people who stopped, their mean rounds and the share with the best action; [] without stops.

    >>> stop_cells({"share": 0.625, "rounds": 8.25, "right": 0.968}), stop_cells(None)
    (['62%', '8.2', '97%'], [])
    """
    return [] if stop is None else [percent(stop["share"]), number(stop["rounds"]), percent(stop["right"])]


def percent(value: float | None) -> str:
    """Format a share as a percentage; None is a dash.

    >>> percent(0.254), percent(None)
    ('25%', '–')
    """
    return "–" if value is None else f"{value:.0%}"


def comparison_note(results: Results) -> str:
    """Say over what the standard errors and the intervals of a comparison are."""
    first, *others = results.policies
    over = f"{results.settings['draws']} draws of the orderings"
    if results.settings["draws"] == 1:
        fixed = results.settings.get("world") in FIXED_ORDERINGS
        over = "people" if fixed else "people of one draw; orderings of other draws differ more (--draws 10)"
    kind = ""
    if any(one.to_dict()["true_state"] is not None for one in results.policies.values()):
        optimistic = " (optimistic for lpbTS)" if "lpbts" in results.policies else ""
        kind = f" True state: its probability by the policy's own posterior{optimistic}, not P(best)."
    if not others:
        return f"± se is over {over}.{kind}"
    what = f"− {name_of(first)}: difference of regret on the same people and random numbers."
    return f"{what} Its interval and ± se are over {over}.{kind}"


def decision_headers(columns: Sequence[str]) -> list[str]:
    """Return the headers of a table of decisions, whose probability is that of being played, not P(best).

    >>> decision_headers(["person", "action", "probability"])
    ['person', 'action', 'P(played)']
    """
    return ["P(played)" if column == "probability" else column for column in columns]


def described(results: Results) -> str:
    """Return the settings of a simulation in one line; settings that the world does not have are omitted."""
    s = results.settings
    words = [pluralize(s[name], name.removesuffix("s")) for name in ("states", "actions") if name in s]
    if "scale" in s:
        words += [f"{s['scale']} scale{'s' if s['scale'] == 'different' else ''}", gaps_of(s)]
    words += (
        [f"tiers of {s['tiers']}" + (", ties broken at random" if s.get("break_ties") else "")]
        if s.get("tiers")
        else []
    )
    words += [noise_of(s)] if "noise" in s else []
    words += ["Student's t noise"] if s.get("noise_family") == "student" else []
    violated = ("assumed_noise", "swap", "model_error")  # assumptions of the paper
    told = [name for name in violated if s.get(name) and (name != "assumed_noise" or s[name] != s["noise"])]
    words += [f"{name.replace('_', ' ')} {s[name]:.4g}" for name in told]
    words.append(pluralize(s["people"], "person", "people") + (" per state" if "states" in s else ""))
    words.append(pluralize(s["rounds"], "round"))
    words += [pluralize(s["draws"], "draw")] if s["draws"] > 1 else []
    words += [f"minimum action probability {s['explore']:g}"] if s.get("explore") else []
    words += [f"stop at confidence {s['stop']:g}"] if "stop" in s else []
    return ", ".join([*words, f"seed {s['seed']}"])


def noise_of(settings: Json) -> str:
    """Describe the noise of rewards, and whether it comes from the model.

    >>> noise_of({"noise": 0.5}), noise_of({"noise": 0.92713, "noise_of_model": True})
    ('noise 0.5', 'noise 0.9271 (from the model)')
    """
    return f"noise {settings['noise']:.4g}{' (from the model)' if settings.get('noise_of_model') else ''}"


def gaps_of(settings: Json) -> str:
    """Describe the gaps between the means of consecutive actions.

    >>> gaps_of({"gap": 0.2}), gaps_of({"gap": 0.2, "gaps": "cliff"})
    ('gap 0.2', 'cliff gaps')
    """
    family = settings.get("gaps", "paper")
    return f"gap {settings['gap']:g}" if family == "paper" else f"{family} gaps"


def number(value: float | None, digits: int = 1) -> str:
    """Format a number; None is a dash, and a rounded zero has no sign.

    >>> number(2.25, 1), number(-0.04), number(None)
    ('2.2', '0.0', '–')
    """
    return "–" if value is None else f"{value:z.{digits}f}"
