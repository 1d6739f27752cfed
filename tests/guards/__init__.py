"""Helpers of the cost guards: a tour of the library, counted operations and counted allocations."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any


def printed_by(module: str, **environment: str) -> Any:
    """Return the JSON that a module of this folder prints in a new process, with the compiler on by default."""
    command, root = [sys.executable, "-m", f"tests.guards.{module}"], Path(__file__).parents[2]
    variables = {**os.environ, "NUMBA_DISABLE_JIT": "0", **environment}
    run = subprocess.run(command, capture_output=True, text=True, cwd=root, env=variables, check=False)
    assert run.returncode == 0, run.stderr
    return json.loads(run.stdout)
