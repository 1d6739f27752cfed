"""Faults that only cost: another compilation, a look at every action, an array per person, a pass or a matrix more."""

from tests.mutants.fault import Fault

ONCE = ("tests/test_guards_signatures.py::test_whatever_comes_in_a_kernel_is_compiled_once",)
INSIDE = ("tests/test_guards_signatures.py::test_a_loop_compiles_what_it_calls_once",)
OPERATIONS = ("tests/test_guards_operations.py",)
ALLOCATION = ("tests/test_guards_allocation.py",)
PASSES = ("tests/test_guards_passes.py",)

FAULTS = [
    Fault("guard: read-only sets go in", "validate/arrays.py", '["C", "W"])\n    numbers', '["C"])\n    numbers', ONCE),
    Fault(
        "guard: a literal where a loop begins",
        "kernels/rollout.py",
        "zero: Any = np.int64(0)",
        "zero: Any = 0",
        INSIDE,
    ),
    Fault(
        "guard: the best action is looked for",
        "kernels/posterior.py",
        "return int(b.states[BEST, state]) if",
        "return int(np.argmin(b.ranks[state])) if",
        OPERATIONS,
    ),
    Fault(
        "guard: untried actions draw one by one",
        "policies/rules/thompson.py",
        "z = largest_normal(unit(word_too), untried)",
        "z = max([normal(scrambled(word_too, i)) for i in range(untried)])",
        OPERATIONS,
    ),
    Fault(
        "guard: a round looks back at all before",
        "kernels/tally.py",
        "    b.slots[COUNT, slot] += 1.0\n",
        "    for _ in range(int(b.slots[COUNT, slot])):\n        pass\n    b.slots[COUNT, slot] += 1.0\n",
        OPERATIONS,
    ),
    Fault(
        "guard: a person looks back at all before",
        "kernels/rollout.py",
        "        n = zero\n",
        "        n = zero\n        for _ in range(p):\n            pass\n",
        OPERATIONS,
    ),
    Fault(
        "guard: what may be had is listed for an order",
        "kernels/deciding.py",
        "        if state >= 0:\n",
        "        if state >= 0 and gather(ask, p, mark, none) >= 0:\n",
        OPERATIONS,
    ),
    Fault(
        "guard: a matrix for every block",
        "recovery/blocks.py",
        "runs = min(2 * math.isqrt(blocks - 1) + 2, blocks) if blocks else 0",
        "runs = blocks",
        PASSES,
    ),
    Fault(
        "guard: groups go over the log one after the other",
        "recovery/taste.py",
        "zip(masks, crowd.likings(*masks), strict=True)",
        "zip(masks, [crowd.likings(one)[0] for one in masks], strict=True)",
        PASSES,
    ),
    Fault(
        "guard: what is popular is worked out apart",
        "recovery/likings.py",
        "*([self.everybody] if self._popular else [])",
        "*([] if self._popular else [])",
        PASSES,
    ),
    Fault(
        "guard: a group waits until all have settled",
        "recovery/likings.py",
        "going = [g for g in going if np.ptp((means[g] - before[g])[raters[g] > 0]) >= SETTLED]\n"
        "            if not going:",
        "if all(np.ptp((means[g] - before[g])[raters[g] > 0]) < SETTLED for g in going):",
        PASSES,
    ),
    Fault(
        "guard: a pass is not told",
        "recovery/bradley_terry.py",
        "self.passes += 1",
        "self.passes += kernel is kernels.expect",
        PASSES,
    ),
    Fault(
        "guard: a first look at the counts too many",
        "recovery/bradley_terry.py",
        "meetings = counts.halves.sum(axis=1, dtype=np.float64) / 2",
        "meetings = (counts.halves + counts.halves.T).sum(axis=1, dtype=np.float64) / 4",
        OPERATIONS,
    ),
    Fault(
        "guard: loops may make arrays", "kernels/compiler.py", "(copy, _nrt=False, forcei", "(copy, forcei", ALLOCATION
    ),
    Fault(
        "guard: kernels may make arrays",
        "kernels/compiler.py",
        "(function, _nrt=False, forceinline=True)",
        "(function, forceinline=True)",
        ALLOCATION,
    ),
    Fault(
        "guard: scratch for every history",
        "kernels/scatter.py",
        "            if n < 2 or people[g] <= 0.0:\n",
        "            mine = np.empty(n)\n            if n < 2 or people[g] <= 0.0:\n",
        ALLOCATION,
    ),
    Fault(
        "guard: counts of two states at a time",
        "recovery/two_stage.py",
        "            del counts, some  # before",
        "# before",
        PASSES,
    ),
    Fault(
        "guard: another matrix for a sum",
        "recovery/pairs.py",
        "wins = counts.sum(axis=1, dtype=np.float64) / 2",
        "wins = counts.astype(np.float64).sum(axis=1) / 2",
        PASSES,
    ),
]
