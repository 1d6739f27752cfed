"""A simulation's results in words and numbers, for a terminal or a report."""

from lpbandits.policies import POLICIES
from lpbandits.simulation import Results
from lpbandits.text import display
from lpbandits.typing import Json
from lpbandits.views.names import name_of


def comparison(results: Results) -> tuple[list[str], list[list[str]]]:
    """Return the results as columns and rows of text for people, lowest regret first; duels have their own columns."""
    columns = ["policy", "knows", "regret", "± se", "sd", "median", "5-95 %"]
    columns += ["weak regret", "both best", "true state"] if results.duels else ["best action", "true state"]
    rows = []
    for name, result in sorted(results.policies.items(), key=lambda item: item[1].regret.mean[-1]):
        end = result.regret.last()
        summary = result.to_dict()
        known = [name_of(name), display(POLICIES[name].knows) if name in POLICIES else ""]
        spread = f"{number(end['p05'], 0)}-{number(end['p95'], 0)}"
        weak = [number(summary["weak_regret"]["mean"])] if results.duels else []
        shares = [share(summary[part]) for part in ("best_share", "true_state")]
        rows.append([*known, *(number(end[part]) for part in ("mean", "se", "sd", "p50")), spread, *weak, *shares])
    return columns, rows


def described(results: Results) -> str:
    """Return the settings of a run in one line; what a world does not say is left out."""
    s = results.settings
    words = [_many(s[name], name.removesuffix("s")) for name in ("states", "actions") if name in s]
    if "scale" in s:
        words += [f"{s['scale']} scale{'s' if s['scale'] == 'different' else ''}", gaps_of(s)]
    if "noise" in s:
        words.append(noise_of(s))
    words += _broken(s)
    people = f"{s['people']:,} {'person' if s['people'] == 1 else 'people'}{' a state' if 'states' in s else ''}"
    words += [people, _many(s["rounds"], "round")]
    words += [_many(s["draws"], "draw")] if s["draws"] > 1 else []
    words += [f"every action at least {s['explore']:g}"] if s.get("explore") else []
    return ", ".join([*words, f"seed {s['seed']}"])


def noise_of(settings: Json) -> str:
    """Return how noisy rewards are, in words, and whether a model said so.

    >>> noise_of({"noise": 0.5}), noise_of({"noise": 0.92713, "noise_of_model": True})
    ('noise 0.5', 'noise 0.9271 (as the model says)')
    """
    if settings.get("noise_of_model"):
        return f"noise {settings['noise']:.4g} (as the model says)"
    return f"noise {settings['noise']:g}"


def gaps_of(settings: Json) -> str:
    """Return how much lower each next action is, in words.

    >>> gaps_of({"gap": 0.2}), gaps_of({"gap": 0.2, "gaps": "cliff"})
    ('gap 0.2', 'cliff gaps')
    """
    family = settings.get("gaps", "paper")
    return f"gap {settings['gap']:g}" if family == "paper" else f"{family} gaps"


def _broken(settings: Json) -> list[str]:
    """Return which of the paper's assumptions a world breaks, in words."""
    words = ["Student's tails"] if settings.get("noise_family") == "student" else []
    if settings.get("assumed_noise") is not None:
        words.append(f"told noise {settings['assumed_noise']:g}")
    words += [f"swap {settings['swap']:g}"] if settings.get("swap") else []
    return words + ([f"model error {settings['model_error']:g}"] if settings.get("model_error") else [])


def _many(count: int, what: str) -> str:
    return f"{count:,} {what}{'' if count == 1 else 's'}"


def number(value: float | None, digits: int = 1) -> str:
    """Return a number for people; a missing one is a dash."""
    return "–" if value is None else f"{value:.{digits}f}"


def share(value: float | None) -> str:
    """Return a share for people, in per cent."""
    return "–" if value is None else f"{value:.0%}"
