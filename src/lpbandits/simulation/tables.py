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
                f"{end['mean']:.1f}",
                f"{end['se']:.1f}",
                f"{end['sd']:.1f}",
                f"{end['p50']:.1f}",
                f"{end['p05']:.0f}-{end['p95']:.0f}",
                f"{summary['best_share']:.0%}",
                "–" if summary["true_state"] is None else f"{summary['true_state']:.0%}",
            ]
        )
    return COLUMNS, rows


def described(results: Results) -> str:
    """Return the settings of a run in one line."""
    s = results.settings
    words = [f"{s['states']} states", f"{s['actions']} actions"]
    if "scale" in s:
        words.append(f"{s['scale']} scale{'s' if s['scale'] == 'different' else ''}")
        words.append(f"gap {s['gap']:g}")
    words += [f"noise {s['noise']:g}", f"{s['people']} people a state", f"{s['rounds']} rounds"]
    words.append(f"{s['draws']} draw{'s' if s['draws'] > 1 else ''} of the orderings" if "scale" in s else "")
    words.append(f"seed {s['seed']}")
    return ", ".join(word for word in words if word)
