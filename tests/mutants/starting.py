"""Faults in how a process starts."""

from tests.mutants.fault import Fault

START = (
    "tests/test_package.py::test_a_decision_needs_no_linear_algebra",
    "tests/test_package.py::test_code_of_others_that_multiplies_matrices_gets_its_linear_algebra",
    "tests/test_package.py::test_only_what_is_called_opens_its_cache",
)

FAULTS = [
    Fault(
        "start: numba imports scipy.linalg",
        "kernels/compiler.py",
        "        blas.put_off()\n",
        "",
        START[:1],
    ),
    Fault(
        "start: numba never asks for linear algebra again",
        "kernels/blas.py",
        "        linalg.ensure_blas = theirs\n",
        "        pass\n",
        START[1:2],
    ),
    Fault(
        "start: numba's other name for its question is lost",
        "kernels/blas.py",
        "        arraymath.ensure_blas = theirs\n",
        "",
        START[1:2],
    ),
    Fault(
        "start: every kernel opens its cache",
        "kernels/compiler.py",
        "        self._function, self._folder = function, folder\n",
        "        self._function, self._folder = function, folder\n        _ = self._opened\n",
        START[2:],
    ),
    Fault(
        "start: numpy.ma is imported to find no mask",
        "validate/arrays.py",
        'if "numpy.ma" in sys.modules and np.ma',
        "if np.ma",
        START[:1],
    ),
]
