"""The page of the service: its lines run, and its table has every route."""

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from lpbandits import PreferenceModel

PAGE = (Path(__file__).parents[2] / "docs" / "service.md").read_text(encoding="utf-8")


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("curl") is None, reason="curl is not installed")
def test_the_five_lines_run(tmp_path: Path) -> None:
    block = re.search(r"^## Five lines\n\n((?:    .*\n)+)", PAGE, re.MULTILINE)
    assert block is not None
    first, *lines = [line.strip() for line in block[1].splitlines()]
    assert first.startswith("lpb serve --dev")
    assert len(lines) == 4
    PreferenceModel([["rest", "drug A", "drug B"], ["drug B", "drug A", "rest"]], noise=1.0).save(
        tmp_path / "model.json"
    )
    command = [str(Path(sys.executable).parent / "lpb"), *first.removesuffix(" &").split()[1:], "--port", "0"]
    with subprocess.Popen(
        command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as server:
        try:
            assert server.stdout is not None
            ready = server.stdout.readline().strip()
            address = ready.removeprefix("ready http://")
            answers = [
                subprocess.run(
                    [
                        "/bin/sh",
                        "-c",
                        f"{line.replace('localhost:8321', address)} --silent --show-error --fail-with-body",
                    ],
                    cwd=tmp_path,
                    check=True,
                    capture_output=True,
                    text=True,
                ).stdout
                for line in lines
            ]
        finally:
            server.terminate()
        assert server.wait(timeout=30) == 0
    assert json.loads(answers[2])["decision"].endswith("-0")
    assert json.loads(answers[3])["reward"] == 2.5
