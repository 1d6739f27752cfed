"""Targets: ratings in memory, fits, evaluations and decisions."""

import json
from typing import Any

import numpy as np

import lpbandits as lpb
from tests.fuzz.shared import ACTIONS, DUELLING, POLICIES, target
from tests.fuzz.values import anything, array, calls, floats, integers, kwargs, listed, mostly, number, one_of, text

_PEOPLE = mostly(
    one_of("['ann', 'ann', 'bo']", "[1, 1, 2]", "np.array(['a', 'a', 'b'])"),
    array() | one_of("[1, '1', 2]", "['a', 'a ', nan]", "['a\\0', 'a', b'a']", "[True, 1, 2]", "[7.0, 7, 'x']"),
)
_LABELS = mostly(one_of("['tea', 'jam', 'milk']", "[1, 2]", "('ann', 'bo')"), listed(text(), text()))
IN_MEMORY = calls(
    arrays=kwargs(
        person_=_PEOPLE,
        action_=mostly(one_of("['tea', 'jam', 'tea']", "[1, 2, 1]", "[0.5, 1, 1]"), array()),
        rating_=mostly(one_of("[1, 2, 3]", "[1e100, -1e100, 0]", "[1e-320, 0, 1]"), array()),
        actions=_LABELS,
        lower_is_better=one_of("False", "True"),
    ),
    matrix=kwargs(
        matrix_=mostly(one_of("[[1, nan, 3], [2, 2, nan]]", "np.eye(3)", "[[nan, nan]]"), array()),
        people=_LABELS,
        actions=_LABELS,
    ),
    ratings=kwargs(
        offsets_=mostly(one_of("np.array([0, 2, 3])", "np.array([0, 3, 2])", "np.array([0, 2, 9])"), array()),
        action_=mostly(one_of("np.array([0, 1, 0], dtype=np.int32)", "np.array([0, 7, 0])"), array()),
        rating_=mostly(one_of("np.array([1.0, 2.0, 3.0])"), array()),
        people_=mostly(one_of("('ann', 'bo')"), listed(text(), text())),
        actions_=mostly(one_of("('tea', 'jam')"), listed(text(), text())),
    ),
    histories=kwargs(
        person_=mostly(one_of("['ann', 'bo']", "[1, 2]", "np.array([3, 3])", "['x', 7]"), listed(text(), number())),
        action_=mostly(one_of("['tea', 'jam']", "['tea', 7]"), listed(mostly(ACTIONS), anything())),
        reward_=mostly(one_of("[1.0, 2.0]", "np.array([0, 1])", "[None, 2.0]", "[nan, nan]"), array()),
        actions_=mostly(one_of("MODEL", "['tea', 'jam', 7]")),
        people=mostly(one_of("['ann', 'bo', 'cy']", "[1, 2, 3]", "range(5)")),
    ),
)


@target("ratings", IN_MEMORY, 3)
def make_ratings(value: Any) -> Any:
    kind, arguments = value
    make: Any = {
        "arrays": lpb.Ratings.from_arrays,
        "matrix": lpb.Ratings.from_matrix,
        "ratings": lpb.Ratings,
        "histories": lpb.Histories.from_arrays,
    }[kind]
    log = make(**arguments)
    repr(log)
    if kind == "histories":
        return log.reward[~np.isnan(log.reward)], log.pending
    log.matrix()
    if np.any(log.counts > 1):
        lpb.fit_states(log, lpb.TwoStage(restarts=1), states=1, heldout=0, threads=1)
    return log.rating, log.means, log.sha256


PEOPLE_TABLES = mostly(
    one_of(
        "pl.DataFrame({'person': ['ann', 3], 'age': ['40', '?'], 'sex': ['f', None]}, strict=False)",
        "pl.DataFrame({'user': [3, 4], 'age': [1e300, nan], 'group': ['a', '']})",
        "pl.DataFrame({'person': ['ann', 'ann'], 'sex': ['f', 'm']})",
        "pl.DataFrame({'person': [], 'age': []})",
    )
)
"""Tables of covariates."""
PRIORS = mostly(
    one_of(
        "{'ann': [0.2, 0.3, 0.5], 3: {'state 1': 1}}",
        "pl.DataFrame({'person': ['ann', 'x'], '0': [0.5, 1], '1': [0.5, 0], 'state 2': [0, 0]})",
        "pl.DataFrame({'person': ['ann', 'ann'], 'state': ['0', 'state 2'], 'p': [0.25, 0.75]})",
        "pl.DataFrame({'person': ['ann', 3], 'state': ['0', '9'], 'p': [1, nan]}, strict=False)",
        "{'ann': [1, 1, 1]}",
        "{}",
    )
)
"""Priors of people, as a dict or a table."""
_RATINGS = mostly(one_of("LOG", "LOG", "lpb.Ratings.from_arrays([0, 0], [0, 1], [1, 2])"))
_SHARED: dict[str, Any] = {
    "ratings_": _RATINGS,
    "pairs_per_person": integers(1, 9),
    "heldout": floats(0, 0.9),
    "threads_": integers(1, 2),
}
_ESTIMATOR: dict[str, Any] = {
    "prior_sd": mostly(floats(0.1, 9), floats(1e-300, 1e6)),
    "shrink": one_of("True", "False"),
    "seed": integers(0, 2**63 - 1),
    "restarts_": integers(1, 2),
}
_SCALED: dict[str, Any] = {"scale": one_of("'raw'", "'centered'", "'standardized'", "'cosine'"), **_ESTIMATOR}
_EM = kwargs(
    **_SCALED,
    tolerance=mostly(floats(0, 1), floats(0, 1e308)),
    max_steps_=integers(1, 3),
    start=mostly(one_of("[0, 1] * 6", "[0] * 12", "np.zeros(12, dtype=int)", "[0.7] * 12", "['x'] * 12"), array()),
)
FITS = listed(
    one_of("'fit'"),
    kwargs(**_SCALED).map("lpb.TwoStage, {}".format)
    | kwargs(**_ESTIMATOR).map("lpb.Mixture, {}".format)
    | _EM.map("lpb.Em, {}".format),
    kwargs(
        **_SHARED,
        states_=mostly(integers(1, 4), one_of("'auto'", "13")),
        max_states=integers(1, 4),
        people=PEOPLE_TABLES,
        names=mostly(one_of("{'0': 'Heat'}", "{'x': 'Heat'}", "{}", "{0: 'Heat', '0': 'Ran'}", "{'0': 7}", "['0']")),
        max_memory=mostly(one_of("'8GB'", "'2 GiB'", "10**10", "'8'", "'1kB'", "'9999999TB'")),
        scratch=mostly(one_of("None", "'/nowhere'", "'\\x00'")),
    ),
) | listed(
    one_of("'choose'"),
    kwargs(**_SCALED).map("lpb.TwoStage, {}".format),
    kwargs(
        ratings_=_RATINGS,
        threads_=integers(1, 2),
        seed=integers(0, 9),
        candidates_=mostly(one_of("[1, 2]", "(2,)", "[]", "[99]"), array()),
    ),
)


@target("fit", FITS)
def fit_states(value: Any) -> Any:
    kind, estimator, settings, arguments = value
    fitted = estimator(**settings)
    if kind == "choose":
        return lpb.choose_states(**arguments).rows()
    fit = lpb.fit_states(estimator=fitted, **arguments)
    return fit.model.utilities, json.loads(json.dumps(fit.model.to_dict(), allow_nan=False))


EVALUATIONS = kwargs(
    "repeats seed threads_",
    ratings_=mostly(one_of("CROWD", "CROWD", "LOG", "lpb.Ratings.from_arrays([0, 0], [0, 1], [1, 2])")),
    model=mostly(one_of("None", "MODEL", "FITTED")),
    states_=mostly(integers(1, 3), one_of("'auto'", "13")),
    scale_=one_of("'raw'", "'cosine'"),
    policies_=mostly(one_of("['lpbts']", "['uniform', 'ease']", "['popular']", "[]"), listed(text(), text())),
    rounds=mostly(integers(1, 3), integers(0, 10**6)),
    people=PEOPLE_TABLES,
    max_people=integers(1, 9),
)


@target("evaluate", EVALUATIONS)
def run_evaluation(arguments: Any) -> Any:
    evaluation = lpb.evaluate(**arguments)
    repr(evaluation)
    assert evaluation.table.height == evaluation.people
    return json.loads(json.dumps([evaluation.to_dict(), evaluation.note()], allow_nan=False))


DECISIONS = calls(
    decide=kwargs(
        "exclude_seen seed",
        policy_=POLICIES | DUELLING | one_of("lpb.Taste(MODEL)", "lpb.LpbTS(MODEL, explore=0.2)"),
        histories_=one_of("PAST", "lpb.Ratings.from_arrays(['a', 'a'], ['tea', 7], [1, 0])"),
        allowed=mostly(
            one_of("['tea']", "['jam', 7, 'jam']", "{'ann': ['tea'], 3: []}", "{}", "{'ann': 3}"),
            listed(mostly(ACTIONS), anything()),
        ),
        prior=PRIORS,
        people=PEOPLE_TABLES,
        threads=one_of("1", "2"),
        progress=one_of("None", "print"),
    ),
    states_of=kwargs(
        "threads",
        model_=mostly(one_of("FITTED", "MODEL", "BARE", "FITTED.replace(actions=['a', 'b', 'c', 'd'])")),
        ratings_=mostly(one_of("LOG", "lpb.Ratings.from_arrays([0, 0, 1], [0, 9, 9], [1, 2, 3])", "LOG.rating")),
    ),
)


@target("decide", DECISIONS, 2)
def run_decision(value: Any) -> Any:
    kind, arguments = value
    if kind == "states_of":
        return lpb.states_of(**arguments).to_dict(as_series=False)
    decisions = lpb.decide(**arguments)
    assert len(decisions.table()) == len(decisions.people)
    decided = decisions.action >= 0
    assert np.all(decisions.action[decided] != decisions.runner_up[decided])
    for values in (decisions.expected, decisions.low, decisions.high):
        assert not np.isinf(values).any()
    return decisions.action, decisions.runner_up, decisions.probability[decided]
