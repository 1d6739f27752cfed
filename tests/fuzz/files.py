"""Targets: saved models and agents, and paths."""

import contextlib
import json
import struct
import tempfile
import zlib
from functools import cache
from typing import Any

from hypothesis import strategies as st

import lpbandits as lpb
from tests.fuzz.commands import run_json
from tests.fuzz.documents import changed_bytes, changed_json, changed_text, source_of, temporary_file
from tests.fuzz.policies import use_agent
from tests.fuzz.shared import FITTED, LOG, MODEL, target
from tests.fuzz.values import NAMES, anything, listed, mostly, one_of, text

_MODELS = [json.dumps(model.to_dict()) for model in (FITTED, MODEL)]
MODEL_FILES = st.one_of(
    [changed_json(content).map(lambda text: source_of(text.encode())) for content in _MODELS]
    + [changed_bytes(_MODELS[1].encode()).map(source_of)]
)


@target("model-file", MODEL_FILES, 2)
def load_model(data: bytes) -> Any:
    with temporary_file("model.json", data) as path:
        model = lpb.PreferenceModel.load(path)
        inspection = run_json(["inspect", str(path)])
    with contextlib.suppress(lpb.InvalidInput):  # the actions may be others
        lpb.states_of(model, LOG, threads=1)
    return model.to_dict(), inspection


@cache
def saved_agents() -> list[tuple[str, str, bytes]]:
    """Return the source of a policy, and an agent and its belief after four outcomes, saved."""
    saved = []
    for source in ("lpb.LpbTS(MODEL)", "lpb.MUCB(MODEL)", "lpb.TS(MODEL)", "lpb.LpbDuel(MODEL)", "lpb.DoubleTS(MODEL)"):
        agent = lpb.Agent(eval(source, dict(NAMES)), seed=3, person="ann")  # noqa: S307 - source from the line above
        labels: tuple[Any, ...] = ("tea", "jam", "tea", 7)
        for i, label in enumerate(labels):
            if agent.policy.feedback == "duels":
                agent.tell_duel(label, "jam", id=i)
            else:
                agent.tell(label, 0.5 * i, id=f"visit {i}")
            agent.decide()
        saved.append((source, agent.to_json(), agent.belief.pack()))
    return saved


@target("agent-file", mostly(st.deferred(lambda: st.one_of([changed_text(text) for _, text, _ in saved_agents()]))), 3)
def load_agent(value: Any) -> Any:
    agent = lpb.Agent.from_json(value)
    assert lpb.Agent.from_json(agent.to_json()).outcomes == agent.outcomes
    return use_agent(agent, (1.0, 0.0))


def with_checksum(data: bytes) -> bytes:
    """Return packed bytes with the checksum of their content."""
    return data[:4] + struct.pack("<I", zlib.crc32(data[8:])) + data[8:]


BELIEFS = st.deferred(lambda: st.sampled_from(saved_agents())).flatmap(
    lambda saved: (changed_bytes(saved[2]) | changed_bytes(saved[2]).map(with_checksum)).map(
        lambda data: f"[{saved[0]}, {source_of(data)}]"
    )
) | anything().map("[lpb.LpbTS(MODEL), {}]".format)


@target("belief", BELIEFS, 2)
def load_belief(value: Any) -> Any:
    policy, data = value
    return use_agent(lpb.Agent(policy, seed=0, belief=lpb.Belief.unpack(policy, data)), (1.0, 0.0))


PATHS = mostly(
    one_of(
        *("'.'", "'/'", "'/dev/null'", "'/dev/full'", "'/proc/self/mem'", "'a/b/c'", "'x' * 300", "'a\\x00b'"),
        *("'new.json'", "'/dev/zero'", "Path('new.json')", "b'new'", "0", "None", "['a.parquet', 3]"),
    )
    | text()
)


@target("path", listed(one_of("'load'", "'save'", "'read'"), PATHS))
def use_path(value: Any) -> Any:
    kind, path = value
    functions: dict[str, Any] = {"load": lpb.PreferenceModel.load, "save": MODEL.save, "read": lpb.read_ratings}
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        functions[kind](path)
