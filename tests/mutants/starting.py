"""Faults in how a process starts and ends, and in what it keeps for the next."""

from tests.mutants.fault import Fault

START = (
    "tests/test_package.py::test_a_decision_needs_no_linear_algebra",
    "tests/test_package.py::test_code_of_others_that_multiplies_matrices_gets_its_linear_algebra",
    "tests/test_package.py::test_only_what_is_called_opens_its_cache",
)
VEGA = ("tests/test_vega.py",)

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
    Fault(
        "command: a file stays open when it ends",
        "cli/__init__.py",
        'open(os.devnull, "w") as nowhere:',
        "contextlib.nullcontext(os.fdopen(os.open(os.devnull, os.O_WRONLY), closefd=False)) as nowhere:",
        ("tests/test_cli.py::test_a_command_leaves_no_file_open",),
    ),
    Fault("sealed: anything is believed", "files/sealed.py", "if _HASH(data).digest() == seal", "if data", VEGA),
    Fault("vega: nothing is kept", "views/vega.py", "write_bytes(kept / name, ", 'len(b"" + ', VEGA),
    Fault("vega: of any version", "views/vega.py", "vega-{version('vl-convert-python')}.sealed", "vega.sealed", VEGA),
    Fault(
        "vega: a place that cannot be written",
        "views/vega.py",
        "contextlib.suppress(InvalidInput):",
        "contextlib.nullcontext():",
        VEGA,
    ),
    Fault(
        "start: all of statistics",
        "simulation/intervals.py",
        "from scipy.special import stdtrit",
        "import scipy.stats; from scipy.special import stdtrit",
        ("tests/test_package.py::test_figures_are_found_without_all_of_statistics",),
    ),
    Fault(
        "vega: read only where one can write",
        "views/vega.py",
        "if folder is not None:",
        "if places.writable(folder):",
        VEGA,
    ),
]
