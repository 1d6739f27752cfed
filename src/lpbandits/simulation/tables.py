"""A simulation's results in words and numbers, for a terminal or a report."""

from lpbandits.policies import POLICIES, title_of
from lpbandits.simulation.results import Results

COLUMNS = ["policy", "knows", "regret", "± se", "sd", "median", "5-95 %", "best action", "true state"]


def comparison(results: Results) -> tuple[list[str], list[list[str]]]:
    """Return the results as columns and rows of text for people, lowest regret first."""
    rows = []
    for name, result in sorted(results.policies.items(), key=lambda item: item[1].regret.mean[-1]):
        end = result.regret.last()
        summary = result.to_dict()
        rows.append(
            [
                title_of(name),
                POLICIES[name].knows if name in POLICIES else "",
                number(end["mean"]),
                number(end["se"]),
                number(end["sd"]),
                number(end["p50"]),
                f"{number(end['p05'], 0)}-{number(end['p95'], 0)}",
                f"{summary['best_share']:.0%}",
                "–" if summary["true_state"] is None else f"{summary['true_state']:.0%}",
            ]
        )
    return COLUMNS, rows


def described(results: Results) -> str:
    """Return the settings of a run in one line; what a world does not say is left out."""
    s = results.settings
    words = [_many(s[name], name.removesuffix("s")) for name in ("states", "actions") if name in s]
    if "scale" in s:
        words += [f"{s['scale']} scale{'s' if s['scale'] == 'different' else ''}", f"gap {s['gap']:g}"]
    if "noise" in s:
        words.append(f"noise {s['noise']:g}")
    words += [f"{s['people']:,} {'person' if s['people'] == 1 else 'people'} a state", _many(s["rounds"], "round")]
    words += [_many(s["draws"], "draw")] if s["draws"] > 1 else []
    return ", ".join([*words, f"seed {s['seed']}"])


def _many(count: int, what: str) -> str:
    return f"{count:,} {what}{'' if count == 1 else 's'}"


def number(value: float | None, digits: int = 1) -> str:
    """Return a number for people; a missing one is a dash."""
    return "–" if value is None else f"{value:.{digits}f}"
