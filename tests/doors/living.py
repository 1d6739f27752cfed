"""Doors of worlds, simulation and theory."""

import contextlib
import json
import tempfile
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from hypothesis import strategies as st

import lpbandits as lpb
from lpbandits.simulation.bounds import bound_model, bound_world, bounds_against, memory_budget, table_against
from lpbandits.theory import differ_probability, expected_inversions, inversion_counts, nearest_inversions
from lpbandits.views.comparison_report import save_comparison
from tests.doors.deciding import BARE, JOBS, MODEL, POLICIES_HERE, by_this_process, truths
from tests.doors.hostile import (
    NAMES,
    arguments,
    array,
    floats,
    listed,
    mostly,
    number,
    one_of,
    text,
    whole,
)
from tests.doors.runner import Door

PEOPLE = lpb.Population(MODEL, [0, 1, 2], MODEL.means, lpb.Rewards())  # type: ignore[arg-type] # as users write it
SMALL = lpb.SyntheticWorld(states=2, actions=3)
RESULTS = lpb.simulate(SMALL, ["lpbts", "ts"], people=2, rounds=3, draws=2, threads=1)


class Outside:
    """A world from outside, of which each answer may be odd."""

    name = "outside"

    def __init__(self, about: Any, people: Any) -> None:
        self.about, self.people = about, people

    def draw(self, *, people: int, seed: int, draw: int = 0) -> Any:  # noqa: ARG002
        return self.people

    def to_dict(self) -> Any:
        return self.about


def part_of(kind: str, body: str, head: str = "", compiled: bool = False, feedback: str = "rewards") -> Any:
    """Return an evidence or a rule from outside whose function has this body."""
    what = "tell" if kind == "evidence" else "choose"
    head = head or ("b, n, action, reward" if kind == "evidence" else "b, n, offered, seed, person, round_")
    place: dict[str, Any] = {"np": np, "__name__": "outside"}
    exec(f"def {what}({head}):\n    {body}", place)  # noqa: S102 - our own source
    made = lpb.kernel(place[what]) if compiled else place[what]
    if kind == "evidence":

        @dataclass(frozen=True)
        class OwnEvidence(lpb.Evidence):
            kind: ClassVar[str] = "own-evidence"
            tell = staticmethod(made)
            expected_rewards = staticmethod(lpb.Refit.expected_rewards)

        OwnEvidence.feedback = feedback  # type: ignore[assignment] # text
        return OwnEvidence()

    @dataclass(frozen=True)
    class OwnRule(lpb.Rule):
        kind: ClassVar[str] = "own-rule"
        choose = staticmethod(made)

    OwnRule.feedback = feedback  # type: ignore[assignment] # text
    return OwnRule()


NAMES |= {"PEOPLE": PEOPLE, "SMALL": SMALL, "Outside": Outside, "part_of": part_of, "RESULTS": RESULTS}


def numbers_of(people: lpb.Population) -> Any:
    return people.means if not people.replayed else people.means[:, :0], people.truth, people.offered, people.fewest


def use_world(given: Any) -> Any:
    name, settings, drawn = given
    world = getattr(lpb, name)(**settings)
    return numbers_of(world.draw(**drawn)), json.loads(json.dumps(world.to_dict(), allow_nan=False))


def use_population(given: Any) -> Any:
    people = lpb.Population(**given)
    policy = lpb.TS(people.model, rewards=people.rewards_told.as_known)
    trace = lpb.roll(policy, people, rounds=min(2, people.fewest), seed=0)
    return numbers_of(people), trace.rewards, trace.regret


def clean(results: lpb.Results) -> Any:
    """Return what results must have no NaN in, and write them."""
    repr(results)
    content = json.loads(json.dumps(results.to_dict(), allow_nan=False))
    results.curves()
    results.people()
    found = [(r.regret.mean, r.reward, r.best_share, r.people["regret"]) for r in results.policies.values()]
    assert all(np.isfinite(a).all() for one in found for a in one), "a result is not finite"
    return content, found


def use_workers(given: Any) -> Any:
    return repr(lpb.Workers(**given))


def use_simulate(given: Any) -> Any:
    return clean(lpb.simulate(**by_this_process(given)))


def use_roll(given: Any) -> Any:
    trace = lpb.roll(**given)
    return trace.rewards, trace.regret, trace.plays


def use_results(given: Any) -> Any:
    kind, values = given
    if kind == "name":
        return RESULTS[values].to_dict()
    if kind == "difference":
        return RESULTS.difference(*values)
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        if kind == "comparison":
            lpb_path = save_comparison(RESULTS, values)
            return str(lpb_path)
        return str(RESULTS.save(values))


def use_outside_part(given: Any) -> Any:
    evidence, rule = given
    policy = lpb.Policy(BARE, evidence, rule)
    agent = lpb.Agent(policy, seed=0)
    if policy.feedback == "duels":
        agent.tell_duel(*agent.ask_pair())
    else:
        agent.tell(agent.ask(), 1.0)
        agent.tell(0, 2.0)
    people = lpb.Population(BARE, None, [[1.0, 2.0, 3.0]], lpb.Rewards())  # type: ignore[arg-type] # as users write it
    lpb.roll(policy, people, rounds=2, seed=0)
    return agent.posterior


def use_bound(given: Any) -> Any:
    kind, settings = given
    calls: dict[str, Any] = {"lower": lpb.lower_bound, "plain": lpb.plain_bound, "latent": lpb.latent_bound}
    found = calls[kind](**settings)
    json.dumps(found.to_dict(), allow_nan=False)
    return found.value, found.rates, found.gap, found.weights, found.confusing_means


def use_bounds(given: Any) -> Any:
    kind, settings = given
    if kind == "against":
        study = bounds_against(**settings)
        table_against(study)
        return [json.loads(json.dumps(found.to_dict(), allow_nan=False)) for _, found in study]
    calls: dict[str, Any] = {"world": bound_world, "model": bound_model}
    found = calls[kind](**settings)
    found.table()
    rooms = [memory_budget(found, name) for name in found.growth()]
    return json.loads(json.dumps(found.to_dict(), allow_nan=False)), rooms and None


def use_scaling(given: Any) -> Any:
    calls: list[Any] = [differ_probability, expected_inversions, inversion_counts, nearest_inversions]
    name, values = given
    return float(next(call for call in calls if call.__name__ == name)(*values[: 2 if name[0] in "dn" else 1]) != 0)


people_here = arguments(people_=whole(1, 3), seed_=whole(0, 9), draw=whole(0, 2))
worlds = st.one_of(
    st.tuples(
        one_of("'SyntheticWorld'"),
        arguments(
            states=whole(1, 6),
            actions=whole(3, 8),
            scale=one_of("'same'", "'different'"),
            gap=mostly(floats(0, 3), floats(0, 1e308)),
            jitter=mostly(floats(0, 1), floats(0, 1e308)),
            noise=floats(1e-50, 1e100),
            base=mostly(floats(-9, 9), floats(-1e308, 1e308)),
            spread=mostly(floats(0, 1), floats(0, 1e308)),
            gaps=one_of("'paper'", "'exponential'", "'cliff'", "'steps'"),
            swap=mostly(floats(0, 1)),
            model_error=mostly(floats(0, 0.99), one_of("1", "1 - 1e-16", "1e-320")),
            told_noise=floats(1e-50, 1e100),
            noise_family=one_of("'normal'", "'student'"),
        ),
        people_here,
    ),
    st.tuples(
        one_of("'MeansWorld'"),
        arguments(
            model_=mostly(one_of("MODEL")),
            means=mostly(one_of("MODEL.means", "[[0.1, 0.5, 0.9]] * 3"), array()),
            truth=mostly(one_of("[0, 1, 2]", "[0.7, 1, 1]", "['0', '1', '2']"), array()),
            rewards=one_of("lpb.Rewards()", "lpb.Rewards('bernoulli')", "lpb.Rewards('poisson')", "'poisson'"),
            told_noise=floats(1e-50, 1e100),
        ),
        people_here,
    ),
    st.tuples(
        one_of("'ReplayWorld'"),
        arguments(
            model_=mostly(one_of("MODEL", "BARE")),
            log_=mostly(
                one_of(
                    "[[1, nan, 2], [1, 1, 1]]",
                    "lpb.Ratings.from_arrays([0, 0, 1], ['tea', 'jam', 'tea'], [1, 2, 3])",
                    "[[1, inf, 2]]",
                    "[[1e100, -1e100, 2]]",
                ),
                array(),
            ),
            least_=whole(1, 2),
            rewards=one_of("lpb.Rewards()", "lpb.Rewards('bernoulli')", "'poisson'"),
        ),
        people_here,
    ),
    st.tuples(
        one_of("'DuellingWorld'"),
        arguments(
            world_=one_of("SMALL", "lpb.DuellingWorld(SMALL)"), comparison=one_of("'rewards'", "'bradley-terry'")
        ),
        people_here,
    ),
)
names_of_policies = one_of(
    "['lpbts', 'ts']",
    "['lpbts', 'lpbts']",
    "['lpb-duel']",
    "['mts']",
    "{'mine': 'ts'}",
    "{'m': lambda s: lpb.TS(s.model)}",
)
_bodies = (
    "return n",
    "pass",
    "return None",
    "return n + 1",
    "return -1",
    "return 'x'",
    "return 0.5",
    "return 0, 1",
    "return (0, 1, 2)",
    "return 0",
    "return 99",
    "return 2**70",
    "b.states[:] = np.nan; return n + 1",
)
_heads = ("", "b", "b, n", "b, n, action, reward, more", "b, n, offered, seed, person, round_, more")


@st.composite
def outside_parts(draw: st.DrawFn) -> str:
    """Draw an evidence and a rule, one of them from outside."""
    kind = draw(st.sampled_from(["evidence", "rule"]))
    bodies = _bodies if kind == "evidence" else _bodies[:-1]  # a rule must leave the belief alone
    body, head = draw(st.sampled_from(bodies)), draw(st.sampled_from(_heads) if draw(st.booleans()) else st.just(""))
    compiled = draw(st.integers(0, 9)) == 0
    feedback = draw(st.sampled_from(["rewards"] * 4 + ["duels", "words"]))
    own = f"part_of({kind!r}, {body!r}, {head!r}, {compiled}, {feedback!r})"
    other = draw(
        one_of("lpb.Refit()", "lpb.Inversions()") if kind == "rule" else one_of("lpb.Sample()", "lpb.TwoStates()")
    )
    return f"[{own}, {other}]" if kind == "evidence" else f"[{other}, {own}]"


_models = mostly(one_of("MODEL", "BARE"))
_bound = {
    "lower": {"pinned": truths, "tolerance": floats(1e-9, 1.0)},
    "plain": {},
    "latent": {"pinned": truths},
}
_means = mostly(
    one_of("[3.0, 2.0, 1.0]", "[1e100, 0, -1e100]", "[1.0, 1.0 - 1e-12, 0.5]", "[1e-300, 0, 0]", "[5, 5, 1]"), array()
)
DOORS = [
    Door("world", worlds.map(lambda parts: f"[{', '.join(parts)}]"), use_world, budget=40, share=3.0),
    Door(
        "population",
        arguments(
            model_=mostly(one_of("MODEL")),
            truth_=mostly(one_of("[0, 1]", "None", "[-1, -1]", "[0.7, 1]", "['a', 'b']"), array()),
            means_=mostly(one_of("[[1, 2, 3], [3, 2, 1]]", "[[0.1, 0.2, 0.3]] * 2", "[[1, nan, 1]] * 2"), array()),
            rewards_=one_of("lpb.Rewards()", "lpb.Rewards('bernoulli')", "lpb.Rewards('poisson')", "'poisson'"),
            offered=mostly(
                one_of("[[[0, 1]]]", "[[[0, 1], [2, -1]]]", "[[[0], [1, 2]]]", "np.empty((1, 1, 0))"), array()
            ),
            once=truths,
            replayed=truths,
            comparison=one_of("'rewards'", "'bradley-terry'"),
            told=one_of("None", "lpb.Rewards(noise=0.1)", "lpb.Rewards('bernoulli')", "'poisson'"),
            tails=one_of("'normal'", "'student'"),
        ),
        use_population,
        budget=40,
        share=3.0,
    ),
    Door(
        "simulate",
        arguments(
            world_=mostly(one_of("SMALL", "lpb.MeansWorld(MODEL)", "lpb.DuellingWorld(SMALL)")),
            policies_=names_of_policies,
            people_=whole(1, 3),
            rounds_=whole(1, 5),
            draws=whole(1, 2),
            seed=whole(0, 2**63 - 1),
            first=one_of("'prior'", "'uniform'"),
            jobs=JOBS,
            threads_=whole(1, 2),
            traces=truths,
            progress=one_of("None", "lambda *_: None"),
        ),
        use_simulate,
        budget=25,
        share=2.0,
    ),
    Door(
        "workers",
        arguments(
            jobs=mostly(whole(1, 1024)),
            backend=mostly(one_of("'processes'", "'dask'", "'spark'"), text()),
            address=mostly(one_of("'tcp://10.0.0.1:8786'", "'tls://h:1'", "'tcp://[::1]:9'", "'10.0.0.1'"), text()),
        ),
        use_workers,
        budget=40,
    ),
    Door(
        "outside-world",
        st.tuples(
            mostly(
                one_of(
                    "{'world': 'mine'}", "None", "{'states': 'x', 'actions': nan}", "{'world': object()}", "{1: nan}"
                )
            ),
            mostly(one_of("PEOPLE", "None", "SMALL.draw(people=2, seed=0)")),
        ).map(lambda p: f"dict(world=Outside({p[0]}, {p[1]}), policies=['ts'], rounds=2, people=2, threads=1)"),
        use_simulate,
        budget=20,
    ),
    Door(
        "roll",
        arguments(
            policy_=POLICIES_HERE,
            people_=mostly(one_of("PEOPLE", "SMALL.draw(people=1, seed=0)")),
            rounds_=whole(1, 5),
            seed_=whole(0, 2**63 - 1),
            first_person=whole(0, 9),
        ),
        use_roll,
        budget=25,
    ),
    Door(
        "results",
        listed(one_of("'name'"), mostly(one_of("'ts'")))
        | listed(one_of("'difference'"), listed(mostly(one_of("'ts'", "'lpbts'")), mostly(one_of("'ts'", "'lpbts'"))))
        | listed(
            one_of("'save'", "'save'", "'save'", "'save'", "'comparison'"), mostly(one_of("'out'", "'a/b'"), text())
        ),
        use_results,
        budget=15,
        share=0.4,
    ),
    Door("outside-part", outside_parts(), use_outside_part, budget=25, share=0.7),
    Door(
        "bound",
        st.one_of(
            [
                st.tuples(
                    st.just(repr(kind)),
                    arguments(
                        model_=_models,
                        state_=whole(0, 2),
                        means_=_means,
                        noise=mostly(floats(0.1, 9), floats(1e-300, 1e100)),
                        **more,
                    ),
                )
                for kind, more in _bound.items()
            ]
        ).map(lambda parts: f"[{', '.join(parts)}]"),
        use_bound,
        budget=30,
        share=2.0,
    ),
    Door(
        "bounds",
        st.one_of(
            st.tuples(
                st.just("'world'"),
                arguments(
                    world_=one_of("SMALL"),
                    people_=whole(1, 2),
                    seed=whole(0, 9),
                    policies=one_of("['ts']", "()", "['ts', 'ts']", "['lpb-duel']"),
                    rounds_=whole(10, 20),
                    repeats_=whole(1, 2),
                    threads_=whole(1, 2),
                ),
            ),
            st.tuples(
                st.just("'model'"),
                arguments(model_=_models, means=_means, state=whole(0, 2), noise=floats(0.1, 9)),
            ),
            st.tuples(
                st.just("'against'"),
                arguments(
                    axis_=one_of("'gap'", "'size'", "'states'"),
                    values_=one_of("[2]", "[0.5, 1]", "[]", "[-1]", "[nan]", "[2.5]", "['x']"),
                    states_=whole(1, 3),
                    actions_=whole(3, 4),
                    gap=floats(0.1, 3),
                    noise=floats(0.1, 9),
                    people_=whole(1, 2),
                ),
            ),
        ).map(lambda parts: f"[{', '.join(parts)}]"),
        use_bounds,
        budget=15,
        share=0.5,
    ),
    Door(
        "scaling",
        listed(
            one_of("'differ_probability'", "'expected_inversions'", "'inversion_counts'", "'nearest_inversions'"),
            listed(mostly(whole(1, 9), number()), mostly(whole(1, 9), number())),
        ),
        use_scaling,
        share=0.5,
    ),
]
