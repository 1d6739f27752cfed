"""Faults in how work is spread: what travels, who dies, what is told, and that nobody's hands change a result."""

from tests.mutants.fault import Fault

TESTS = "tests/test_workers.py::"
AGAIN = (f"{TESTS}test_a_policy_that_plays_again_is_told_of_whoever_decides",)
DATA = (f"{TESTS}test_data_must_be_where_the_work_is_done",)
DEATH = (f"{TESTS}test_a_simulation_survives_the_death_of_a_worker",)
INTERRUPT = (f"{TESTS}test_ctrl_c_leaves_nothing_of_a_simulation",)
LOST = (f"{TESTS}test_parts_of_a_program_travel_and_those_of_a_lost_module_say_so",)
ODD = (f"{TESTS}test_an_error_that_cannot_travel_is_told_all_the_same",)
SEALED = (f"{TESTS}test_a_model_that_travelled_is_as_immutable_as_before",)
SLOW = (f"{TESTS}test_that_a_function_is_slow_is_said_here_and_not_by_workers",)

FAULTS = [
    Fault("workers: a death ends the run", "parallel/engines.py", "= (BrokenProcessPool,)", "= ()", DEATH),
    Fault(
        "workers: Ctrl-C reaches them",
        "parallel/engines.py",
        "SIG_BLOCK, {signal.SIGINT}",
        "SIG_BLOCK, set()",
        INTERRUPT,
    ),
    Fault("workers: a lost module is a death", "parallel/travel.py", "ODD, ImportError, ", "ODD, ", LOST),
    Fault("workers: an odd error is a death", "parallel/travel.py", "if not _arrives(error):", "if False:", ODD),
    Fault(
        "workers: they warn too", "parallel/travel.py", '("ignore", SlowFunction)', '("default", SlowFunction)', SLOW
    ),
    Fault("workers: a model thaws", "model.py", "                _frozen(part)", "                part.copy()", SEALED),
    Fault(
        "workers: simulations forget draws",
        "simulation/account.py",
        "_join(self.regret, part.draw, part.regret)",
        "_join(self.regret, 0, part.regret)",
        ("tests/test_results.py", "tests/test_simulate.py"),
    ),
    Fault(
        "workers: rough quantiles of exact runs",
        "simulation/run.py",
        "* rounds > sums.EXACT",
        "* rounds > 0",
        ("tests/test_results.py", "tests/test_simulate.py"),
    ),
    Fault(
        "workers: everybody has the luck of the first block",
        "evaluation/batch.py",
        "self.reward[rows], self.address[people], sets)",
        "self.reward[rows], self.address[: people.stop - people.start], sets)",
        ("tests/test_decide.py::test_neither_threads_nor_pieces_nor_company_change_a_decision",),
    ),
    Fault(
        "workers: nobody is told that a policy plays again",
        "evaluation/decide.py",
        "sum(some.again for some in found)",
        "0",
        AGAIN,
    ),
    Fault("workers: any data will do", "paper/reproduce.py", " or _content(figure) != content)", ")", DATA),
    Fault(
        "workers: the longest cases come last",
        "paper/reproduce.py",
        "one[0].check(one[1]), reverse=True)",
        "one[0].check(one[1]))",
        (f"{TESTS}test_the_longest_cases_start_first",),
    ),
    Fault(
        "workers: one constant is tried",
        "evaluation/contest.py",
        "for first in REFERENCES[name].firsts]",
        "for first in REFERENCES[name].firsts[:1]]",
        ("tests/test_evaluate.py::test_constants_are_those_that_do_best",),
    ),
]
