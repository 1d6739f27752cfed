"""Faults in decisions for many people: in the loop over them, in what it tells, and in files."""

from tests.mutants.fault import Fault

LOOP = "kernels/deciding.py"
AGENTS = "tests/test_decide.py::test_everybody_gets_what_their_agent_would_answer"
LPBTS = (f"{AGENTS}[lpbts-gaussian]",)
FLOOR = ("tests/test_decide.py::test_a_floor_is_kept[lpbts-gaussian]",)
FILES = ("tests/test_decide_files.py",)

FAULTS = [
    Fault("decide: luck stands still", LOOP, "seed, addresses[p], round_) if", "seed, addresses[p], zero) if", LPBTS),
    Fault("decide: luck is shared", LOOP, "follow(b, n, seed, addresses[p],", "follow(b, n, seed, zero,", LPBTS),
    Fault("decide: the runner-up is the first", LOOP, "mark, state, first)", "mark, state, none)", LPBTS),
    Fault(
        "decide: the chance of one state",
        LOOP,
        "                        likely += states",
        "                        likely = states",
        LPBTS,
    ),
    Fault("decide: what was tried is allowed", LOOP, "[order[0, slot]] = mark", "[order[0, slot]] = zero", LPBTS),
    Fault(
        "decide: sets of others",
        "kernels/allowance.py",
        "    for i in range(ask.starts[p], ask.starts[p + 1]):",
        "    for i in range(ask.starts[0], ask.starts[1]):",
        LPBTS,
    ),
    Fault("decide: states agree", LOOP, "(by_state[z] - mean) ** 2", "0.0 * by_state[z]", LPBTS),
    Fault("decide: no noise", LOOP, "square += noise * noise", "square += 0.0 * noise", LPBTS),
    Fault("decide: no prior means", LOOP, "not foretold and means.shape[0] > 0", "means.shape[0] < 0", LPBTS),
    Fault(
        "decide: no doubt",
        LOOP,
        "doubt_of(b, n, action, scratch[1]) ** 2",
        "0.0",
        (f"{AGENTS}[lpb-utility-gaussian]",),
    ),
    Fault("decide: a chance without its floor", LOOP, "likely = explore + max(", "likely = max(", FLOOR),
    Fault(
        "decide: nobody wanders",
        LOOP,
        "                if explore > 0.0:\n                    action",
        "                if explore > 2.0:\n                    action",
        FLOOR,
    ),
    Fault("decide: any floor", "evaluation/batch.py", "policy.check_floor(int(", "int(int(", ("tests/test_decide.py",)),
    Fault(
        "decide: a guessed noise is not learned",
        "evaluation/batch.py",
        "return 0.0 if rewards.noise is not None",
        "return rewards.sd if rewards.noise is not None",
        (f"{AGENTS}[lpbts-unknown-noise]",),
    ),
    Fault(
        "decide: one action between its neighbours",
        "kernels/isotonic.py",
        "share = (rank - rank_before) / (behind - rank_before)",
        "share = 0.5",
        ("tests/test_decide.py::test_what_is_expected_of_one_action_is_what_is_expected_of_all",),
    ),
    Fault(
        "decide: an evidence settles that does not",
        "policies/evidences/incremental.py",
        "    fitted: ClassVar[bool] = True\n",
        "    fitted: ClassVar[bool] = True\n    settles: ClassVar[bool] = True\n",
        ("tests/test_decide.py::test_outcomes_recorded_and_weighed_once_leave_the_same_bits",),
    ),
    Fault(
        "decide: the chance of an untried action",
        "policies/rules/upper_bound.py",
        "return 1.0 / untried if",
        "return 1.0 if",
        (f"{AGENTS}[ucb-gaussian]",),
    ),
    Fault(
        "decide: the share of a mix",
        "policies/rules/ids.py",
        "(1.0 - share if at == first else 0.0)",
        "(share if at == first else 0.0)",
        (f"{AGENTS}[lpb-ids-gaussian]",),
    ),
    Fault("decide: no word on locking in", LOOP, "seen[AGAIN] += 1", "seen[AGAIN] += 0", ("tests/test_decide.py",)),
    Fault(
        "address: large numbers are cut",
        "address.py",
        "(numbers < 0) | (numbers >= MOST)",
        "numbers < 0",
        ("tests/test_decide.py::test_an_array_of_people_has_the_same_addresses",),
    ),
    Fault(
        "decide files: people are cut in two",
        "evaluation/history_files.py",
        "if start + size < self.rows:",
        "if start + size < 0:",
        FILES,
    ),
    Fault(
        "decide files: the order is lost",
        "evaluation/decision_files.py",
        '.collect().sort("first")',
        '.collect().sort("person")',
        FILES,
    ),
    Fault(
        "decide files: the past is turned round",
        "evaluation/history_files.py",
        '.collect(engine="streaming").sort("row")',
        '.collect(engine="streaming").sort("row", descending=True)',
        FILES,
    ),
    Fault(
        "decide files: rows are taken to stand together",
        "evaluation/history_files.py",
        "if begins.n_unique() < len(begins):\n                return False",
        "if begins.n_unique() < len(begins):\n                return True",
        FILES,
    ),
    Fault(
        "decide files: who is met counts as unmet",
        "evaluation/decide_file.py",
        "met[place.drop_nulls().to_numpy()] = True",
        "met[place.drop_nulls().to_numpy()] = False",
        FILES,
    ),
    Fault(
        "decide files: skipped rows stay counted",
        "evaluation/decide_file.py",
        "before = np.concatenate([[0], np.cumsum(known)])",
        "before = np.arange(len(known) + 1)",
        FILES,
    ),
    Fault(
        "decide files: personal sets are mixed",
        "evaluation/label_files.py",
        'rows.sort("place", "code")',
        'rows.sort("code")',
        FILES,
    ),
    Fault(
        "decide files: an evaluation of duels decides",
        "evaluation/policy_choice.py",
        'best in POLICIES and POLICIES[best].feedback == "rewards"',
        "best in POLICIES",
        FILES,
    ),
    Fault(
        "decide files: intervals of a noise that nobody knows",
        "evaluation/policy_choice.py",
        "math.nan if guessed else None",
        "None",
        FILES,
    ),
]
