"""A small log for the commands that read one."""

from pathlib import Path

import numpy as np
import pytest


@pytest.fixture
def log(tmp_path: Path) -> Path:
    """Write ratings of forty people of two opposite states on different scales."""
    rng = np.random.default_rng(5)
    lines = ["userId,movieId,rating"]
    for person in range(40):
        order = (0, 1, 2, 3) if person % 2 else (3, 2, 1, 0)
        scale, level = rng.uniform(0.5, 2.0), rng.uniform(-3, 3)
        lines += [f"{person},{10 + action},{level - scale * place:.3f}" for place, action in enumerate(order)]
    path = tmp_path / "log.csv"
    path.write_text("\n".join(lines) + "\n")
    return path
