"""Doors of recovery: logs as arrays, and what is fitted to them."""

import json
from typing import Any

import numpy as np
from hypothesis import strategies as st

import lpbandits as lpb
from lpbandits.fit.provenance import FitRecord
from lpbandits.fit.refit import estimator_of
from lpbandits.fit.training_sketch import share_in_fit, sketch_of
from tests.doors.deciding import JOBS, by_this_process
from tests.doors.hostile import NAMES, anything, arguments, array, floats, listed, mostly, one_of, text, whole
from tests.doors.runner import Door

_ROWS = [(n, a, (a if n < 6 else -a) + 0.1 * ((7 * n + 3 * a) % 5)) for n in range(12) for a in range(4) if (n + a) % 5]
LOG = lpb.Ratings.from_arrays(*zip(*_ROWS, strict=True))
_CROWD = [(n, a, (a if n % 2 else -a) + 0.1 * ((7 * n + 3 * a) % 5)) for n in range(24) for a in range(5)]
CROWD = lpb.Ratings.from_arrays(*zip(*_CROWD, strict=True))
CROWD_MODEL = lpb.PreferenceModel([[4, 3, 2, 1, 0], [0, 1, 2, 3, 4]])
FITTED = lpb.PreferenceModel(
    [[3, 2, 1, 0], [0, 1, 2, 3]],
    utilities=[[0.1, 0.4, 0.6, 0.9], [0.9, 0.6, 0.4, 0.1]],
    provenance={
        "people_sketch": sketch_of(range(12)),
        "settings": {"method": "em", "states": 2, **lpb.Em().settings(), "heldout": 0.1, "taste": False},
        "report": {"people": 12, "state_people": [6, 6], "ties": 0.0},
    },
)
NAMES |= {"LOG": LOG, "FITTED": FITTED, "CROWD": CROWD, "CROWD_MODEL": CROWD_MODEL}


def use_ratings(given: Any) -> Any:
    kind, settings = given
    calls: dict[str, Any] = {
        "arrays": lpb.Ratings.from_arrays,
        "matrix": lpb.Ratings.from_matrix,
        "codes": lpb.Ratings.from_codes,
        "whole": lpb.Ratings,
    }
    made = calls[kind](**settings)
    repr(made)
    assert len(made.sha256) == 64
    made.matrix()
    if np.any(made.counts > 1):
        lpb.fit_states(made, lpb.TwoStage(restarts=1), states=1, heldout=0, threads=1)
    return made.rating, made.means, made.counts, len(made)


def use_fit(given: Any) -> Any:
    kind, settings = given
    calls: dict[str, Any] = {"two-stage": lpb.recover_two_stage, "em": lpb.recover_em}
    model = calls[kind](**settings)
    return model.prior, model.utilities, json.loads(json.dumps(model.to_dict(), allow_nan=False))


def use_states(given: Any) -> Any:
    kind, estimator, settings = given
    of = settings.pop("of")
    made = estimator(**of) if any(estimator is kind for kind in (lpb.TwoStage, lpb.Em)) else estimator
    if kind == "fit":
        fit = lpb.fit_states(estimator=made, **settings)
        return json.loads(json.dumps(fit.report.to_dict(), allow_nan=False)), fit.model.utilities
    curve = lpb.choose_states(estimator=made, **settings)
    return curve.rows()


def use_states_of(given: Any) -> Any:
    table = lpb.states_of(**by_this_process(given))
    assert table["probability"].is_between(0.0, 1.0 + 1e-9).all()
    return table.to_dict(as_series=False)


def use_overlap(given: Any) -> Any:
    model, people = given
    return share_in_fit(model, people)


def use_refit(given: Any) -> Any:
    told = estimator_of(lpb.PreferenceModel([[0, 1], [1, 0]], provenance=given))
    FitRecord.of(lpb.PreferenceModel([[0, 1], [1, 0]], provenance=given))
    return None if told is None else (told[0].settings(), told[1], told[2])


def use_match(given: Any) -> Any:
    found = lpb.match_orderings(*given[:2], **given[2])
    return found.assignment, found.errors, found.error, found.top_overlap


def use_bradley_terry(given: Any) -> Any:
    fit = lpb.fit_bradley_terry(**given)
    assert np.isfinite(fit.utilities).all()
    return fit.utilities, fit.standard_errors, fit.components, fit.ordering


def use_evaluate(given: Any) -> Any:
    found = lpb.evaluate(**by_this_process(given))
    repr(found)
    assert found.table.height == found.people
    return json.loads(json.dumps([found.to_dict(), found.note()], allow_nan=False))


_labels = one_of("['ann', 'ann', 'bo']", "[1, 1, 2]", "np.array(['a', 'a', 'b'])")
_shared = {
    "ratings_": mostly(one_of("LOG", "lpb.Ratings.from_arrays([0, 0], [0, 1], [1, 2])")),
    "states_": mostly(whole(1, 4), one_of("'auto'", "13")),
    "scale": one_of("'raw'", "'centered'", "'standardized'", "'cosine'"),
    "prior_sd": mostly(floats(0.1, 9), floats(1e-300, 1e6)),
    "pairs_per_person": whole(1, 9),
    "heldout": floats(0, 0.9),
    "restarts_": whole(1, 2),
    "shrink": one_of("True", "False"),
    "max_states": whole(1, 4),
    "names": mostly(one_of("{'0': 'Heat'}", "{'x': 'Heat'}", "{}", "{0: 'Heat', '0': 'Ran'}", "{'0': 7}", "['0']")),
    "seed": whole(0, 2**63 - 1),
    "threads_": whole(1, 2),
    "max_memory": mostly(one_of("'8GB'", "'2 GiB'", "10**10", "'8'", "'1kB'", "'9999999TB'")),
    "scratch": mostly(one_of("None", "'.'", "'/nowhere'", "'\\x00'")),
}
_em = {
    "tolerance": mostly(floats(0, 1), floats(0, 1e308)),
    "max_steps_": whole(1, 3),
    "start": mostly(one_of("[0, 1] * 6", "[0] * 12", "np.zeros(12, dtype=int)", "[0.7] * 12", "['x'] * 12"), array()),
}
_estimators = st.one_of(
    st.tuples(
        one_of("lpb.TwoStage"), arguments(scale=_shared["scale"], prior_sd=_shared["prior_sd"], restarts_=whole(1, 2))
    ),
    st.tuples(
        one_of("lpb.Em"),
        arguments(
            scale=_shared["scale"],
            prior_sd=_shared["prior_sd"],
            restarts_=whole(1, 2),
            max_steps_=whole(1, 2),
            seed=whole(0, 9),
            start=_em["start"],
        ),
    ),
    st.tuples(mostly(one_of("lpb.TwoStage(restarts=1)")), one_of("{}")),
)


@st.composite
def state_runs(draw: st.DrawFn) -> str:
    """Draw a fit of states, or a choice of their number, by some estimator."""
    estimator, of = draw(_estimators)
    if draw(st.booleans()):
        kind = "fit"
        settings = {
            name: _shared[name]
            for name in ("ratings_", "states_", "pairs_per_person", "heldout", "threads_", "max_states", "names")
        } | {name: _shared[name] for name in ("max_memory", "scratch")}
    else:
        kind = "choose"
        settings = {name: _shared[name] for name in ("ratings_", "pairs_per_person", "heldout", "seed", "threads_")}
        settings["candidates_"] = mostly(one_of("[1, 2]", "(2,)", "[]", "[99]"), array())
    inner = draw(arguments(**settings))
    return f"[{kind!r}, {estimator}, dict(of={of}, **{inner})]"


DOORS = [
    Door(
        "ratings",
        st.one_of(
            st.tuples(
                st.just("'arrays'"),
                arguments(
                    person_=mostly(_labels, array()),
                    action_=mostly(one_of("['tea', 'jam', 'tea']", "[1, 2, 1]", "[0.5, 1, 1]"), array()),
                    rating_=mostly(one_of("[1, 2, 3]", "[1e100, -1e100, 0]", "[1e-320, 0, 1]"), array()),
                    actions=mostly(one_of("['tea', 'jam', 'milk']", "[1, 2]"), listed(text(), text())),
                ),
            ),
            st.tuples(
                st.just("'matrix'"),
                arguments(
                    matrix_=mostly(one_of("[[1, nan, 3], [2, 2, nan]]", "np.eye(3)", "[[nan, nan]]"), array()),
                    people=mostly(one_of("['ann', 'bo']", "[1, 2, 3]"), listed(text(), text())),
                    actions=mostly(one_of("['tea', 'jam', 'milk']"), listed(text(), text())),
                ),
            ),
            st.tuples(
                st.just("'codes'"),
                arguments(
                    person_=mostly(one_of("np.array([0, 0, 1])"), array()),
                    action_=mostly(one_of("np.array([0, 1, 0])"), array()),
                    rating_=mostly(one_of("np.array([1.0, 2.0, 3.0])"), array()),
                    people_=mostly(one_of("('ann', 'bo')"), listed(text(), text())),
                    actions_=mostly(one_of("('tea', 'jam')"), listed(text(), text())),
                    dropped=one_of("{'blank_lines': 1}"),
                    layout=one_of("'wide'", "'tall'"),
                ),
            ),
            st.tuples(
                st.just("'whole'"),
                arguments(
                    offsets_=mostly(
                        one_of("np.array([0, 2, 3])", "np.array([0, 3, 2])", "np.array([0, 2, 9])"), array()
                    ),
                    action_=mostly(one_of("np.array([0, 1, 0], dtype=np.int32)", "np.array([0, 7, 0])"), array()),
                    rating_=mostly(one_of("np.array([1.0, 2.0, 3.0])"), array()),
                    people_=mostly(one_of("('ann', 'bo')"), listed(text(), text())),
                    actions_=mostly(one_of("('tea', 'jam')"), listed(text(), text())),
                ),
            ),
        ).map(lambda parts: f"[{', '.join(parts)}]"),
        use_ratings,
        budget=40,
        share=3.0,
    ),
    Door(
        "fit",
        st.one_of(
            st.tuples(st.just("'two-stage'"), arguments(**_shared)),
            st.tuples(st.just("'em'"), arguments(**_shared, **_em)),
        ).map(lambda parts: f"[{', '.join(parts)}]"),
        use_fit,
        budget=20,
    ),
    Door("states", state_runs(), use_states, budget=20),
    Door(
        "evaluate",
        arguments(
            ratings_=mostly(one_of("CROWD", "CROWD", "LOG", "lpb.Ratings.from_arrays([0, 0], [0, 1], [1, 2])")),
            model=mostly(one_of("CROWD_MODEL", "MODEL")),
            states_=mostly(whole(1, 3), one_of("'auto'", "13")),
            scale_=one_of("'raw'", "'cosine'"),
            policies_=mostly(one_of("['lpbts']", "['uniform', 'ease']", "['popular']", "[]"), listed(text(), text())),
            rounds=mostly(whole(1, 3), whole(0, 10**6)),
            people=whole(1, 9),
            repeats=one_of("True", "False"),
            seed=whole(0, 2**63 - 1),
            jobs=JOBS,
            threads_=whole(1, 2),
        ),
        use_evaluate,
        budget=20,
    ),
    Door(
        "states-of",
        arguments(
            model_=mostly(one_of("FITTED", "MODEL", "BARE", "FITTED.relabelled(['a', 'b', 'c', 'd'])")),
            ratings_=mostly(one_of("LOG", "lpb.Ratings.from_arrays([0, 0, 1], [0, 9, 9], [1, 2, 3])", "LOG.rating")),
            threads=whole(1, 2),
            jobs=JOBS,
        ),
        use_states_of,
        share=2.0,
    ),
    Door(
        "overlap",
        st.tuples(
            mostly(one_of("FITTED", "BARE", "BARE.replace(provenance={'people_sketch': ['x']})")),
            mostly(one_of("[0, 1, 99]", "['0', 'x']", "LOG.people", "[]", "[0.5]", "'ann'"), array()),
        ).map(lambda parts: f"[{', '.join(parts)}]"),
        use_overlap,
    ),
    Door(
        "refit",
        mostly(
            one_of("FITTED.provenance", "{}", "{'settings': 7}", "{'settings': {'method': 'em', 'states': 'auto'}}"),
            st.tuples(
                st.sampled_from(["method", "states", "scale", "seed", "restarts", "taste", "heldout", "max_states"]),
                anything(),
            ).map(lambda pair: f"{{'settings': {{**FITTED.provenance['settings'], {pair[0]!r}: {pair[1]}}}}}"),
        ),
        use_refit,
    ),
    Door(
        "match",
        st.tuples(
            mostly(one_of("MODEL", "BARE", "BARE.relabelled([2, 1, 0])")),
            mostly(one_of("MODEL", "BARE", "lpb.PreferenceModel([[2, 1, 0]])")),
            arguments(top=whole(1, 9)),
        ).map(lambda parts: f"[{', '.join(parts)}]"),
        use_match,
    ),
    Door(
        "bradley-terry",
        arguments(
            wins_=mostly(
                one_of("[[0, 3], [1, 0]]", "np.zeros((3, 3))", "[[0, 1e100], [1e-100, 0]]", "[[0, 1e308], [1e308, 0]]"),
                array(),
            ),
            prior_sd=mostly(floats(0.1, 9), floats(1e-320, 1e6)),
            tolerance=mostly(floats(1e-9, 1), floats(1e-320, 1e308)),
            max_passes=whole(1, 50),
            threads=whole(1, 2),
        ),
        use_bradley_terry,
        budget=30,
        share=2.0,
    ),
]
