"""The table of fuzz targets: a strategy that draws the source of a value, and the function that receives it."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from hypothesis import strategies as st

from tests.fuzz.commands import command_lines, run_command
from tests.fuzz.data import (
    DECISIONS,
    EVALUATIONS,
    FITS,
    IN_MEMORY,
    fit_states,
    make_ratings,
    run_decision,
    run_evaluation,
)
from tests.fuzz.documents import (
    changed_bytes,
    changed_json,
    changed_text,
    frames,
    parquet_files,
    rating_files,
    source_of,
)
from tests.fuzz.files import (
    HISTORY_FILES,
    NAMES_FILES,
    PATHS,
    agent_texts,
    beliefs,
    load_agent,
    load_belief,
    load_model,
    read_file,
    read_files,
    read_frame,
    read_history,
    read_names_file,
    use_path,
)
from tests.fuzz.models import (
    BOUND_CALLS,
    FUNCTION_CALLS,
    MODEL_CALLS,
    REWARD_VALUES,
    TASTES,
    call_function,
    make_bound,
    make_model,
    make_rewards,
    make_taste,
)
from tests.fuzz.policies import AGENTS, PLUGINS, POLICY_CALLS, drive_agent, make_policy_and_use, use_plugin
from tests.fuzz.shared import FITTED, MODEL
from tests.fuzz.values import Code, anything, listed, mostly, one_of
from tests.fuzz.worlds import SIMULATIONS, WORLDS, make_world, run_simulation


@dataclass(frozen=True)
class Target:
    """An entry point, the strategy of its input, and its share of the examples."""

    strategy: Code
    function: Callable[[Any], Any]
    weight: float = 1.0


TARGETS = {
    "model": Target(MODEL_CALLS, make_model, 2),
    "taste": Target(TASTES, make_taste),
    "rewards": Target(REWARD_VALUES, make_rewards),
    "function": Target(FUNCTION_CALLS, call_function, 3),
    "bound": Target(BOUND_CALLS, make_bound, 2),
    "policy": Target(POLICY_CALLS, make_policy_and_use, 4),
    "plugin": Target(PLUGINS, use_plugin),
    "agent": Target(AGENTS, drive_agent, 4),
    "world": Target(WORLDS, make_world, 4),
    "simulate": Target(SIMULATIONS, run_simulation, 2),
    "ratings": Target(IN_MEMORY, make_ratings, 3),
    "fit": Target(FITS, fit_states, 1),
    "evaluate": Target(EVALUATIONS, run_evaluation, 1),
    "decide": Target(DECISIONS, run_decision, 2),
    "model-file": Target(
        st.deferred(lambda: changed_json(json.dumps(FITTED.to_dict())) | changed_json(json.dumps(MODEL.to_dict()))).map(
            lambda content: source_of(content.encode())
        )
        | st.deferred(lambda: changed_bytes(json.dumps(MODEL.to_dict()).encode())).map(source_of),
        load_model,
        2,
    ),
    "agent-file": Target(
        mostly(st.deferred(lambda: st.one_of([changed_text(t) for t in agent_texts()]))), load_agent, 3
    ),
    "belief": Target(
        st.deferred(lambda: st.sampled_from(beliefs())).flatmap(
            lambda pair: changed_bytes(pair[1]).map(lambda data: f"[{pair[0]}, {source_of(data)}]")
        )
        | anything().map("[lpb.LpbTS(MODEL), {}]".format),
        load_belief,
        2,
    ),
    "ratings-file": Target(rating_files(), read_file, 4),
    "ratings-frame": Target(frames(), read_frame, 2),
    "ratings-files": Target(parquet_files(), read_files, 2),
    "names-file": Target(NAMES_FILES, read_names_file),
    "history-file": Target(HISTORY_FILES, read_history, 1),
    "path": Target(listed(one_of("'load'", "'save'", "'read'"), PATHS), use_path, 1),
    "command": Target(command_lines(), run_command, 4),
}
"""Every fuzz target by name."""
