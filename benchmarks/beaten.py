"""Measurements in which another package is faster or better, found in the tables so that none is left out."""

from collections.abc import Iterator
from typing import Any

from benchmarks.markdown import times
from benchmarks.results import Results

OURS = "lpbandits"
WORTH = 0.99
"""Ratios above this count as equal."""
ERRORS = 2.0
"""Number of standard errors that count as a lead; low, so that doubtful cases are listed."""


def found(results: Results) -> list[str]:
    """Return a sentence for every measurement in which another package is ahead."""
    ways = (faster, lower_regret, bradley_terry, recommenders, memory, start)
    return [sentence for way in ways for sentence in way(results)]


def faster(results: Results) -> Iterator[str]:
    for name, what in (("thompson-decision", "decides"), ("thompson-simulation", "simulates")):
        records = results.table(name)
        ours = {one["k"]: one["µs"] for one in records if one["who"] == OURS}
        for one in records:
            if one["µs"] < WORTH * ours[one["k"]]:
                yield f"{one['who']} {what} in {times(one['µs'] / ours[one['k']])} our time at k = {one['k']:,}"


def lower_regret(results: Results) -> Iterator[str]:
    for one in results.table("thompson-regret"):
        if one["more than exact"] < -ERRORS * one["its se"]:
            yield (
                f"{one['who']} has {-one['more than exact']:.0f} ± {one['its se']:.0f} less regret than exact Thompson "
                f"sampling, ours included, in {one['rounds']} rounds of {one['k']} actions"
            )


def bradley_terry(results: Results) -> Iterator[str]:
    records = results.table("bradley-terry")
    ours = {one["k"]: one for one in records if one["who"] == OURS}
    nearer: dict[int, list[dict[str, Any]]] = {}
    for one in records:
        if one["missing"]:
            continue
        own = ours[one["k"]]
        if one["ms"] < WORTH * own["ms"]:
            yield f"{one['who']} fits {one['k']:,} actions in {times(one['ms'] / own['ms'])} our time"
        if one["error"] < WORTH * own["error"]:
            nearer.setdefault(one["k"], []).append(one)
    for k, found in nearer.items():
        best = min(one["error"] for one in found)
        yield (
            f"{', '.join(one['who'] for one in found)}: closer to the true utilities of {k:,} actions (error "
            f"{best:.3f}; ours is {ours[k]['error']:.3f}, because its prior shrinks the utilities)"
        )


def recommenders(results: Results) -> Iterator[str]:
    records = results.table("references")
    own = {(one["log"], one["who"]): one for one in records}
    for one in records:
        if not one["who"].startswith(("implicit", "surprise")):
            continue
        knn, taste = own[one["log"], "item-knn"], own[one["log"], "taste"]
        if one["over item-knn"] > ERRORS * one["its se"]:
            then = "but less than taste" if one["score"] < taste["score"] else "and not less than taste"
            yield (
                f"{one['who']} scores {one['over item-knn']:.3f} ± {one['its se']:.3f} more than our item kNN on the "
                f"{one['log']}, {then}"
            )
        if one["fit s"] < WORTH * knn["fit s"]:
            share = times(one["fit s"] / knn["fit s"])
            yield f"{one['who']} is fitted to the {one['log']} in {share} the time of our item kNN"


def memory(results: Results) -> Iterator[str]:
    agents = {one["who"]: one["KiB each"] for one in results.table("memory-agents")}
    for who, each in agents.items():
        if each is not None and each < WORTH * agents[OURS]:
            yield f"an agent of {who} takes {times(each / agents[OURS])} the memory of ours"


def start(results: Results) -> Iterator[str]:
    records = results.table("start")
    ours = next((one["warm s"] for one in records if one["who"] == "lpbandits: Agent of TS"), None)
    for one in records:
        if ours and one["warm s"] and not one["who"].startswith(OURS) and one["warm s"] < WORTH * ours:
            share = times(one["warm s"] / ours)
            yield f"{one['who']} makes its first decision in {share} our time, with our kernels compiled"
