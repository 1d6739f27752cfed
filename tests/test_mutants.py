"""The list of faults keeps up with the sources; `make mutants` puts them in."""

from pathlib import Path

import pytest

import lpbandits
from tests.mutants.__main__ import FAULTS, missing
from tests.mutants.fault import Fault

SOURCES = Path(lpbandits.__file__).parent


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
def test_a_fault_can_be_put_in(fault: Fault) -> None:
    whole = (SOURCES / fault.file).read_text(encoding="utf-8")
    assert whole.count(fault.old) == 1
    assert fault.old != fault.new
    compile(whole.replace(fault.old, fault.new), fault.file, "exec")
    assert missing(fault.tests) == []


def test_faults_have_names_of_their_own() -> None:
    assert len({fault.name for fault in FAULTS}) == len(FAULTS)
