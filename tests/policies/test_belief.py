"""Packed beliefs: what they depend on, older bytes, and bytes that were changed."""

import base64
import struct
import zlib
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import lpbandits as lpb
from lpbandits.agent import Agent
from lpbandits.errors import FileFormatError, InvalidInput
from lpbandits.kernels import layout
from lpbandits.kernels.calls import possible
from lpbandits.model import FIELDS
from lpbandits.typing import FloatArray
from tests import naive
from tests.conftest import CASES, Case, agent_after, model_for, random_orderings, taste_for

pytestmark = pytest.mark.jitless

MODEL = lpb.PreferenceModel(
    [[0, 1, 2], [2, 1, 0]],
    actions=["rest", "drug A", "drug B"],
    means=[[3.0, 2.0, 1.0], [1.0, 2.0, 3.0]],
    utilities=[[0.9, 0.5, 0.1], [0.2, 0.3, 0.8]],
)
OUTCOMES: Any = [("drug B", 3.5), ("rest", 1.0), ("drug B", 2.5)]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (lpb.LpbTS(MODEL, noise=1.0), lpb.LpbTS(MODEL, noise=1.0, first="uniform")),
        (lpb.LpbTS(MODEL, noise=1.0), lpb.LpbTS(MODEL, noise=1, explore=0.1)),
        (lpb.LpbHorizon(MODEL, rounds=10), lpb.LpbHorizon(MODEL, rounds=30)),
        (lpb.LpbUtility(MODEL), lpb.LpbIDS(MODEL)),
        (lpb.TS(MODEL), lpb.TS(MODEL, prior_sd=3.0, top=True)),
        (lpb.DoubleTS(MODEL), lpb.DoubleTS(MODEL, top=True)),
    ],
    ids=lambda policy: repr(policy)[:40],
)
def test_a_belief_survives_another_rule(one: lpb.Policy, other: lpb.Policy) -> None:
    duels = one.feedback == "duels"
    outcomes: Any = [("rest", "drug B"), ("drug A", "drug B")] if duels else OUTCOMES
    for before, after in ((one, other), (other, one)):
        told, twin = (Agent(policy, seed=7) for policy in (before, after))
        for agent in (told, twin):
            for outcome in outcomes:
                (agent.tell_duel if duels else agent.tell)(*outcome)
        for belief in (lpb.Belief.unpack(after, told.belief.pack()), told.belief):
            moved, same = (Agent(after, seed=7, belief=one) for one in (belief, twin.belief))
            for _ in range(20):
                assert (moved.ask_pair if duels else moved.ask)() == (same.ask_pair if duels else same.ask)()
            assert moved.belief.pack() == twin.belief.pack()


def test_scratch_is_replaced_for_a_rule_that_needs_more() -> None:
    popular = lpb.Popular(MODEL)
    needs_more = lpb.Policy(MODEL, popular.evidence, lpb.TS(MODEL).rule)
    small, large = sorted((popular, needs_more), key=lambda policy: policy.scratch)
    assert small.scratch < large.scratch
    belief = small.new_belief()
    assert large.arrays(belief).work.shape == large.new_belief().work.shape
    assert small.arrays(belief).work is belief.work


@pytest.mark.parametrize(
    "other",
    [
        lpb.LpbTS(MODEL, noise=2.0),
        lpb.LpbTS(MODEL, noise=1.0, noise_known=False),
        lpb.LpbTS(MODEL, noise=1.0, likelihood="marginal"),
        lpb.LpbTS(MODEL.replace(prior=[0.3, 0.7]), noise=1.0),
        lpb.MTS(MODEL, noise=1.0),
    ],
    ids=repr,
)
def test_a_belief_is_refused_for_other_evidence_noise_or_model(other: lpb.Policy) -> None:
    belief = agent_after(lpb.LpbTS(MODEL, noise=1.0), OUTCOMES).belief
    with pytest.raises(FileFormatError, match="another model, evidence or noise"):
        lpb.Belief.unpack(other, belief.pack())
    with pytest.raises(InvalidInput, match="another model, evidence or noise"):
        Agent(other, seed=0, belief=belief)


DISPLAY: dict[str, Any] = {
    "names": ["Rest", "Tea", "Jam"],
    "state_names": ["calm", "busy"],
    "covariates": lpb.CovariateModel(["x"], ["number"], [[]], np.zeros(1), np.ones(1), np.zeros(2), np.eye(2), 0.5),
    "provenance": {"by": "hand"},
    "evaluation": {"score": 1},
}
"""Fields of a model that do not enter a belief."""

NUMBERS: dict[str, Any] = {
    "actions": ["rest", "drug B", "drug A"],
    "orderings": [[0, 1, 2], [2, 0, 1]],
    "prior": [0.3, 0.7],
    "means": [[3.0, 2.0, 1.5], [1.0, 2.0, 3.0]],
    "utilities": [[0.9, 0.5, 0.2], [0.2, 0.3, 0.8]],
    "errors": np.full((2, 3), 0.1),
    "taste": taste_for(3),
    "noise": 2.0,
    "popular": [2, 1, 0],
    "tiers": [[1, 2], [3]],
    "rewards": "gaussian",
    "reward_range": [0, 5],
    "lower_is_better": True,
}
"""The other fields."""


def test_a_packed_belief_survives_other_display_names() -> None:
    assert {*DISPLAY, *NUMBERS} == {*FIELDS, "provenance", "evaluation"}  # a new field belongs to one of them
    before = lpb.LpbTS(MODEL, noise=1.0)
    data = agent_after(before, OUTCOMES).belief.pack()
    for name, value in DISPLAY.items():
        after = lpb.LpbTS(MODEL.replace(**{name: value}), noise=1.0)
        belief = lpb.Belief.unpack(after, data)
        assert belief.pack() == data, name
        moved, same = Agent(after, seed=7, belief=belief), Agent(before, seed=7, belief=lpb.Belief.unpack(before, data))
        assert [moved.ask() for _ in range(20)] == [same.ask() for _ in range(20)]
    for name, value in NUMBERS.items():
        more = {"means": None} if name in {"orderings", "tiers"} else {}
        other = lpb.LpbTS(MODEL.replace(**more).replace(**{name: value}), noise=1.0)
        with pytest.raises(FileFormatError, match="another model, evidence or noise"):
            lpb.Belief.unpack(other, data)


def test_bytes_that_name_the_whole_model_are_read() -> None:
    policy = lpb.LpbTS(MODEL, noise=1.0)
    data = agent_after(policy, OUTCOMES).belief.pack()
    rest = policy.former_belief_id + data[16:]
    assert lpb.Belief.unpack(policy, data[:4] + struct.pack("<I", zlib.crc32(rest)) + rest).pack() == data
    assert policy.former_belief_id != policy.belief_id


@pytest.mark.parametrize("case", CASES, ids=str)
def test_unpacked_arrays_are_bit_identical(case: Case) -> None:
    agent = Agent(case.policy(model_for(case.rewards, m=4, k=20)), seed=3)
    for i in (7, 3, 19, 3, 0, 11, 12, 13, 14, 15, 7, 1):
        agent.tell(i, float(i % 2))
    before, after = agent.belief, lpb.Belief.unpack(agent.policy, agent.belief.pack())
    n = before.tried
    assert n == after.tried == 10
    np.testing.assert_array_equal(after.slots[:, :n], before.slots[:, :n])
    np.testing.assert_array_equal(after.order[:, :n], before.order[:, :n])
    np.testing.assert_array_equal(after.states, before.states)
    if agent.policy.evidence.derived:  # `tell` may update it, and rounds otherwise
        np.testing.assert_allclose(after.own, before.own, rtol=1e-12)
    else:
        np.testing.assert_array_equal(after.own, before.own)
    by_rank = np.argsort(agent.policy.ranks[:, after.actions], axis=1)
    np.testing.assert_array_equal(after.order[1:, :n], by_rank[: len(after.order) - 1])


PLAIN = lpb.PreferenceModel(
    [[0, 1, 2], [2, 1, 0]], actions=["rest", "drug A", "drug B"], means=[[3.0, 2.0, 1.0], [1.0, 2.0, 3.0]]
)
VERSION_1: list[tuple[Callable[[], lpb.Policy], str]] = [
    (
        lambda: lpb.LpbTS(PLAIN, noise=1.0),
        "Oi)5G-ruMpg^aDk0ssI20ssI20000000000cmZQ#KmiUA-UoXKErG^|h=R!XmcRZv={?)OyI{lW^qMF3@zO4u>o=dW*Z8^4R3!MNJpkI#6Q2",
    ),
    (
        lambda: lpb.LpbTS(PLAIN, noise=1.0, likelihood="incremental"),
        "Oi)5GkmjHNtZ&SO0ssI20ssI20000000000cmZQ#KmiUA-UoXKErG^|h=NF&<Ap%<bU#d_S5w|RXXRCU%j|+Dp4w0C0bO?v3I",
    ),
    (
        lambda: lpb.MTS(PLAIN, noise=1.0),
        "Oi)5G_HC8={t5Ih0ssI20ssI20RR910ssI2cmZQ#KmiUA-UoXKErG^|h=NEv_xtfDj!GYRZ~5z=lis`i0u8^4${kbe8(Dih_Pu@&)vpQF|G*v"
        "q77!J(",
    ),
]
"""Bytes that lpbandits 0.3 packed after OUTCOMES."""


@pytest.mark.parametrize(("make", "text"), VERSION_1, ids=["refit", "incremental", "means"])
def test_bytes_of_version_0_3_are_read(make: Callable[[], lpb.Policy], text: str) -> None:
    policy, data = make(), base64.b85decode(text)
    assert lpb.Belief.unpack(policy, data).pack() == agent_after(policy, OUTCOMES).belief.pack()
    for damaged in (data[:20], data[:-1], data + b"x", data[:30] + b"\0" + data[31:], data[:12] + b"\xff" + data[13:]):
        with pytest.raises(FileFormatError, match="packed belief"):
            lpb.Belief.unpack(policy, damaged)
    many = data[:12] + struct.pack("<I", 2**32 - 1) + data[16:]
    with pytest.raises(FileFormatError, match="more actions than the model"):
        lpb.Belief.unpack(policy, many)
    with pytest.raises(FileFormatError, match=r"0\.3.*another policy"):
        lpb.Belief.unpack(lpb.LpbTS(PLAIN, noise=1.0, first="uniform"), data)


def packed(n: int, *columns: bytes, policy: lpb.Policy) -> bytes:
    """Return packed bytes with a valid checksum."""
    rest = policy.belief_id + struct.pack("<I", n) + b"".join(columns)
    return b"LPB2" + struct.pack("<I", zlib.crc32(rest)) + rest


def actions(*values: int) -> bytes:
    return struct.pack(f"<{len(values)}I", *values)


def numbers(*values: float) -> bytes:
    return struct.pack(f"<{len(values)}d", *values)


@pytest.mark.parametrize(
    ("n", "columns", "match"),
    [
        (2, [actions(1, 1), numbers(1, 1, 0, 0, 0, 0)], "twice"),
        (1, [actions(3), numbers(1, 0, 0)], "unknown"),
        (1, [actions(2**32 - 1), numbers(1, 0, 0)], "unknown"),
        (2**32 - 1, [actions(1)], "truncated"),
        (1, [actions(0), numbers(1, 0, 0), b"x"], "truncated or damaged"),
        (1, [actions(0), numbers(0, 0, 0)], "impossible"),
        (1, [actions(0), numbers(1.5, 0, 0)], "impossible"),
        (1, [actions(0), numbers(2.0**54, 0, 0)], "impossible"),
        (1, [actions(0), numbers(np.nan, 0, 0)], "impossible"),
        (1, [actions(0), numbers(1, 1.1e100, 0)], "impossible"),
        (1, [actions(0), numbers(1, np.nan, 0)], "impossible"),
        (1, [actions(0), numbers(1, 0, -1)], "impossible"),
        (1, [actions(0), numbers(1, 0, 1e202)], "impossible"),
    ],
)
def test_hostile_bytes_with_a_valid_checksum_are_refused(n: int, columns: list[bytes], match: str) -> None:
    policy = lpb.LpbTS(MODEL, noise=1.0)
    with pytest.raises(FileFormatError, match=match):
        lpb.Belief.unpack(policy, packed(n, *columns, policy=policy))


@given(
    hnp.arrays(
        np.float64,
        st.tuples(st.just(3), st.integers(0, 4)),
        elements=st.sampled_from([0.0, 1.0, 2.0, 2.5, -1.0, 5.0, 10.0, 10.1, 400.0, 401.0, 801.0, 2.0**53, 2.0**54])
        | st.floats(),
    )
)
def test_slots_are_possible_as_in_numpy(slots: FloatArray) -> None:
    n = slots.shape[1]
    nothing, order = np.zeros((0, 0)), np.zeros((1, n), dtype=np.uint32)
    b = layout.Arrays(np.zeros((1, 1), dtype=np.int32), nothing, nothing, slots, nothing, nothing, order, nothing)
    assert bool(possible(b, n, 5.0)) == naive.possible_slots(slots, 5.0)


def test_an_own_array_that_is_not_finite_or_too_large_is_refused() -> None:
    policy = lpb.MTS(MODEL, noise=1.0)
    slots = actions(0) + numbers(1, 2, 0) + numbers(0, 0, 0.5, 0.5)
    good = zlib.compress(numbers(0.5, 0.25))
    assert lpb.Belief.unpack(policy, packed(1, slots, good, policy=policy)).own.tolist() == [[0.5, 0.25]]
    for own, match in (
        (zlib.compress(numbers(np.inf, 0.0)), "no posterior"),
        (zlib.compress(bytes(10**6)), "truncated or damaged"),
        (zlib.compress(numbers(0.5)), "truncated or damaged"),
        (good + b"x", "truncated or damaged"),
        (b"", "truncated or damaged"),
        (b"abc", "damaged"),
    ):
        with pytest.raises(FileFormatError, match=match):
            lpb.Belief.unpack(policy, packed(1, slots, own, policy=policy))


def test_a_belief_grows_and_a_copy_is_independent() -> None:
    policy = lpb.LpbTS(lpb.PreferenceModel(random_orderings(3, 40, 1)), noise=1.0)
    agent = agent_after(policy, [(action, 1.0) for action in range(20)])
    twin = agent.belief.copy()
    assert (agent.belief.room, twin.room, twin.tried) == (32, 32, 20)
    agent.tell(30, 5.0)
    assert twin.tried == 20
    assert float(twin.slots[layout.SUM].sum()) == 20.0
    assert twin.pack() == agent_after(policy, [(action, 1.0) for action in range(20)]).belief.pack()
