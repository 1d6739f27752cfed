"""Doors of decisions for many people."""

import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from hypothesis import strategies as st

import lpbandits as lpb
from lpbandits.decisions.choose_policy import choose_policy
from lpbandits.decisions.files import decide_file
from tests.doors.deciding import ACTIONS, DUELLING, JOBS, MODEL, POLICIES_HERE, by_this_process, truths
from tests.doors.hostile import (
    NAMES,
    anything,
    arguments,
    array,
    listed,
    mostly,
    number,
    one_of,
    text,
    whole,
)
from tests.doors.runner import Door

PAST = lpb.Histories.from_arrays(
    ["ann", "ann", 3, -1], ["tea", 7, "jam", "tea"], [1.0, 0.0, 1.0, 1.0], MODEL, people=["ann", 3, -1, "new"]
)
NAMES |= {"PAST": PAST}

labels = one_of("['ann', 'bo']", "[1, 2]", "np.array([3, 3])", "['x', 7]")


def sound(made: lpb.Decisions) -> Any:
    """Return what was decided, if it can be: nothing but what is not known is NaN."""
    table = made.table()
    assert len(table) == len(made.people)
    assert np.all((made.action >= 0) | (made.runner_up < 0))
    given = made.action >= 0
    assert np.all(made.action[given] != made.runner_up[given])
    chance = made.probability[given]
    assert np.all((chance >= 0) & (chance <= 1 + 1e-9))
    for numbers in (made.expected, made.low, made.high):
        assert not np.isinf(numbers).any()
    return made.action, made.runner_up, chance


def use_histories(given: Any) -> Any:
    past = lpb.Histories.from_arrays(**given)
    repr(past)
    assert len(past) == len(past.counts)
    return past.offsets, past.action, past.reward


def use_history_arrays(given: Any) -> Any:
    past = lpb.Histories(**given)
    return past.offsets, past.action, past.reward


def use_decide(given: Any) -> Any:
    return sound(lpb.decide(**by_this_process(given)))


def use_history_file(given: Any) -> Any:
    """Decide from a file of hostile text."""
    rows, settings = given
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder) / "history.csv"
        place.write_bytes(rows.encode("utf-8", "surrogatepass") if isinstance(rows, str) else bytes(rows))
        summary = decide_file(choose_policy(MODEL), place, threads=1, **settings)
        assert summary.decided + summary.nothing_left == summary.people
        return summary.to_dict()


cells = st.sampled_from(["ann", "3", "tea", "7", "jam", "1", "0.5", "nan", "", "1e400", '"', "\x00", "x" * 100])
lines = st.lists(st.lists(cells, min_size=2, max_size=4).map(",".join), max_size=6).map("\n".join)
files = lines.map(lambda body: repr("person,action,reward\nann,tea,1\n" + body)) | one_of("''", "b'\\xff\\xfe'", "'x'")

DOORS = [
    Door(
        "histories",
        arguments(
            person_=mostly(labels, listed(text(), number())),
            action_=mostly(one_of("['tea', 'jam']", "['tea', 7]"), listed(mostly(ACTIONS), anything())),
            reward_=mostly(one_of("[1.0, 2.0]", "np.array([0, 1])"), array()),
            actions_=mostly(one_of("MODEL", "['tea', 'jam', 7]")),
            people=mostly(one_of("['ann', 'bo', 'cy']", "[1, 2, 3]", "range(5)")),
        ),
        use_histories,
        budget=30,
    ),
    Door(
        "history-arrays",
        arguments(
            offsets_=one_of("[0, 1, 2]", "[0, 0, 2]", "np.array([0, 2, 2])"),
            action_=one_of("[0, 1]", "np.array([2, 2], dtype='u1')"),
            reward_=one_of("[1.0, 2.0]"),
            people_=one_of("['ann', 3]", "(1, 2)"),
            actions_=one_of("['tea', 'jam', 7]"),
        ),
        use_history_arrays,
        budget=20,
    ),
    Door(
        "decide",
        arguments(
            policy_=POLICIES_HERE | DUELLING | one_of("lpb.Taste(MODEL)", "lpb.LpbTS(MODEL, explore=0.2)"),
            histories_=one_of("PAST", "lpb.Ratings.from_arrays(['a', 'a'], ['tea', 7], [1, 0])"),
            allowed=mostly(
                one_of("['tea']", "['jam', 7, 'jam']", "{'ann': ['tea'], 3: []}", "{}", "{'ann': 3}"),
                listed(mostly(ACTIONS), anything()),
            ),
            exclude_seen=truths,
            seed=whole(0, 2**63 - 1),
            jobs=JOBS,
            threads=one_of("1", "2"),
            progress=one_of("None", "print"),
        ),
        use_decide,
        budget=40,
        share=2.0,
    ),
    Door(
        "history-file",
        listed(
            files,
            arguments(
                allowed=one_of("'tea'", "'tea,7'", "','", "'/'"),
                exclude_seen=truths,
                unknown=one_of("'skip'", "'error'"),
                seed=whole(0, 99),
                rows=whole(1, 5),
            ),
        ),
        use_history_file,
        budget=30,
    ),
]
