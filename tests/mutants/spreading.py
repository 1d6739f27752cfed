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
ENGINES = "tests/test_engines.py::"
PARALLEL = "tests/test_parallel.py::"
CLUSTER = (f"{ENGINES}test_threads_of_one_worker_change_nothing_and_that_all_are_gone_is_said",)
GONE = (f"{ENGINES}test_that_the_scheduler_is_gone_is_said",)
PLACES = (f"{ENGINES}test_workers_are_of_the_folder_the_environment_and_the_modules_that_they_work_for",)
REFUSED = (f"{ENGINES}test_where_nobody_is_is_told_at_once",)

FAULTS = [
    Fault("workers: a death ends the run", "parallel/processes.py", "= (BrokenProcessPool,)", "= ()", DEATH),
    Fault(
        "workers: Ctrl-C reaches them",
        "parallel/interrupts.py",
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
    Fault(
        "engines: a pool in use is lent",
        "parallel/processes.py",
        "                    del cls.pools[number]\n",
        "",
        (f"{ENGINES}test_two_teams_at_once_never_share_a_process",),
    ),
    Fault(
        "engines: no pool is kept",
        "parallel/processes.py",
        "_Idle.add(self._place, self._pool)",
        "self._pool.shutdown()",
        (f"{ENGINES}test_two_teams_at_once_never_share_a_process",),
    ),
    Fault(
        "engines: any pool will do", "parallel/processes.py", "if where == place:", "if where[1] == place[1]:", PLACES
    ),
    Fault(
        "engines: workers outlive their parent",
        "parallel/processes.py",
        "while os.getppid() == parent:",
        "while True:",
        (f"{ENGINES}test_workers_end_when_their_parent_is_killed",),
    ),
    Fault(
        "engines: all that waits is charged with a death",
        "parallel/team.py",
        "for task in tasks[: self.engine.count]",
        "for task in tasks",
        (f"{ENGINES}test_a_death_is_charged_to_what_was_started",),
    ),
    Fault(
        "engines: loky kills, and its thread fails",
        "parallel/processes.py",
        "pool.shutdown(wait=True)",
        "pool.shutdown(wait=True, kill_workers=True)",
        (f"{ENGINES}test_calls_that_nobody_wants_any_more_fail_no_thread",),
    ),
    Fault(
        "engines: workers for nothing",
        "parallel/team.py",
        "if most == 0:",
        "if False:",
        (f"{ENGINES}test_nobody_is_asked_when_there_is_nothing_to_do",),
    ),
    Fault(
        "engines: the first interrupt does not wait",
        "parallel/interrupts.py",
        "if len(came) > 1:",
        "if came:",
        (f"{ENGINES}test_the_first_interrupt_waits_and_the_second_does_not",),
    ),
    Fault(
        "engines: an interrupt comes between a table and its record",
        "paper/cases.py",
        "    with undisturbed():",
        "    if True:",
        ("tests/test_reproduce.py::test_an_interrupt_leaves_no_table_without_its_record",),
    ),
    Fault(
        "threads: a library that is loaded later has many",
        "parallel/threads.py",
        "    import scipy.linalg  # noqa: F401, PLC0415",
        "    #",
        (f"{PARALLEL}test_a_library_that_is_loaded_later_has_one_thread_too",),
    ),
    Fault(
        "threads: the last who leaves cannot put threads back",
        "parallel/threads.py",
        """                _any_may_set()
                cls.limit.restore""",
        "                cls.limit.restore",
        (f"{PARALLEL}test_whichever_thread_leaves_last_puts_back_how_many_there_were",),
    ),
    Fault(
        "threads: only the first thread ever limits",
        "parallel/threads.py",
        "                _any_may_set()\n                cls.limit = ",
        "                cls.limit = ",
        (f"{PARALLEL}test_whichever_thread_leaves_last_puts_back_how_many_there_were",),
    ),
    Fault(
        "threads: jobs have all threads of linear algebra",
        "parallel/team.py",
        """    with one_thread("blas"):
        found = [function(*job) for job in jobs]""",
        "    found = [function(*job) for job in jobs]",
        (f"{PARALLEL}test_linear_algebra_has_one_thread_whoever_works",),
    ),
    Fault(
        "threads: what a fit does here has all threads of linear algebra",
        "recovery/fit.py",
        """        open_.enter_context(one_thread("blas"))  # what is done here, too, has one order of sums\n""",
        "",
        ("tests/test_recovery_fit.py::test_a_fit_has_one_order_of_sums",),
    ),
    Fault("engines: Dask stays quiet", "parallel/cluster.py", "setLevel(level)", "setLevel(50)", CLUSTER),
    Fault("engines: nobody looks for workers", "parallel/team.py", "self.engine.check()", "pass", CLUSTER),
    Fault(
        "engines: versions are compared once",
        "parallel/travel.py",
        "if theirs is not None:",
        "if False:",
        (f"{ENGINES}test_a_worker_that_joins_later_is_asked_for_its_versions",),
    ),
    Fault(
        "engines: workers of another environment", "parallel/processes.py", "sorted(os.environ.items())", "()", PLACES
    ),
    Fault("engines: workers of other modules", "parallel/processes.py", "tuple(sys.path), ", "", PLACES),
    Fault(
        "engines: the second interrupt waits",
        "parallel/interrupts.py",
        "    for number in held:\n",
        "    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})\n    for number in held:\n",
        (f"{ENGINES}test_the_second_interrupt_ends_a_wait",),
    ),
    Fault(
        "engines: who waits for a cluster hears nothing",
        "parallel/interrupts.py",
        "    threading.Thread(target=work, daemon=True).start()",
        "    work()",
        (f"{ENGINES}test_the_second_interrupt_ends_a_wait",),
    ),
    Fault(
        "engines: workers of a cluster hear Ctrl-C",
        "parallel/interrupts.py",
        "        with deaf():\n",
        "        with contextlib.nullcontext():\n",
        (f"{ENGINES}test_workers_do_not_hear_ctrl_c_and_this_process_does",),
    ),
    Fault(
        "engines: a cluster does more at a time than asked for",
        "parallel/cluster.py",
        "self.count if self.count < threads else 2 * self.count",
        "2 * self.count",
        (f"{ENGINES}test_no_more_jobs_at_a_time_than_asked_for",),
    ),
    Fault(
        "engines: errors of a call everywhere are lost",
        "parallel/cluster.py",
        "if isinstance(one, BaseException) and not isinstance(one, OSError):",
        "if False:",
        (f"{ENGINES}test_every_worker_of_a_cluster_is_asked",),
    ),
    Fault(
        "engines: one worker is asked for the files",
        "parallel/cluster.py",
        'on_error="return").values()',
        'on_error="return", workers=list(self._client.nthreads())[:1]).values()',
        ("tests/test_recovery_memory.py::test_all_workers_are_asked_whether_they_see_the_files",),
    ),
    Fault(
        "engines: a worker without the folder says that the log is gone",
        "recovery/in_files.py",
        "    if not sees:\n        raise _unseen(host, folder)",
        "    if not host:\n        raise _unseen(host, folder)",
        ("tests/test_recovery_memory.py::test_a_block_that_is_missing_is_the_fault_of_whoever_misses_it",),
    ),
    Fault(
        "engines: a log that is gone is a worker's fault",
        "recovery/in_files.py",
        "        self._look(number)\n",
        "",
        ("tests/test_recovery_memory.py::test_a_block_that_is_missing_is_the_fault_of_whoever_misses_it",),
    ),
    Fault(
        "engines: a cluster leaves the locks of its scheduler",
        "parallel/cluster.py",
        '                    scheduler_kwargs={"local_directory": str(place)},\n',
        "",
        (f"{ENGINES}test_a_cluster_of_this_machine_leaves_no_files",),
    ),
    Fault("engines: Dask is quiet for good", "parallel/cluster.py", "    end.start()\n", "", GONE),
    Fault("engines: a lost scheduler is told of twice", "parallel/cluster.py", "_quiet_for(AFTERWARDS)", "pass", GONE),
    Fault("engines: a silent port is waited for", "parallel/cluster.py", "and not there.recv(1)", "and False", REFUSED),
    Fault(
        "engines: nobody waits for the thread that fills the queue",
        "parallel/processes.py",
        "queue._thread.join(LET_GO)",
        "pass",
        (f"{ENGINES}test_no_thread_is_left_that_lets_go_of_locks",),
    ),
    Fault(
        "engines: a call that nobody takes holds a thread",
        "parallel/processes.py",
        "queue._reader.close()",
        "pass",
        (f"{ENGINES}test_a_thread_that_is_stuck_with_a_call_ends_with_its_pool",),
    ),
    Fault(
        "engines: pools that are not kept leave their thread",
        "parallel/processes.py",
        "            _shut(one)",
        "            one.shutdown(wait=False)",
        (f"{ENGINES}test_no_thread_is_left_that_lets_go_of_locks",),
    ),
]
