"""Faults in sums over blocks and parts of people: means, likings, pairs of actions, kinds of people."""

from tests.mutants.fault import Fault

SUMS = ("tests/test_recovery_sums.py",)
MOMENTS = ("tests/test_recovery_taste.py",)

FAULTS = [
    Fault("parts: as many as threads", "recovery/parts.py", "count = min(PARTS,", "count = min(threads.count,", SUMS),
    Fault(
        "parts: by people",
        "recovery/parts.py",
        "inner = np.searchsorted(offsets, np.arange(1, parts) * int(offsets[-1]) // parts)",
        "inner = np.arange(1, parts) * (len(offsets) - 1) // parts",
        SUMS,
    ),
    Fault("parts: however many cells", "recovery/parts.py", "max(math.prod(shape), SMALLEST)", "SMALLEST", SUMS),
    Fault("sample: rounded down", "recovery/blocks.py", "people[:: -(-int(", "people[:: (int(", SUMS),
    Fault(
        "likings: everybody counts",
        "recovery/likings.py",
        "own=[groups[g] for g in going]",
        "own=[own.differ for g in going]",
        SUMS,
    ),
    Fault("likings: a sweep too few", "recovery/likings.py", "range(SWEEPS - 1)", "range(SWEEPS - 2)", SUMS),
    Fault(
        "likings: no pseudo-raters",
        "recovery/likings.py",
        "(raters[going] + PSEUDO_RATERS)",
        "(raters[going] + 1)",
        SUMS,
    ),
    Fault(
        "pairs: without an action's own",
        "kernels/products.py",
        "place[position[o] : end[o]], left[position[o] : end[o]]",
        "place[position[o] + 1 : end[o]], left[position[o] + 1 : end[o]]",
        SUMS,
    ),
    Fault(
        "pairs: of the first part",
        "kernels/products.py",
        "for part in range(len(starts)):",
        "for part in range(1):",
        SUMS,
    ),
    Fault(
        "pairs: only the first people are multiplied",
        "recovery/crossed.py",
        "for low in range(0, people, PEOPLE):",
        "for low in range(0, PEOPLE, PEOPLE):",
        SUMS,
    ),
    Fault("pairs: never multiplied", "recovery/crossed.py", "SPARSE = 0.055", "SPARSE = 0.45", SUMS),
    Fault(
        "pairs: of all actions that were rated",
        "recovery/taste_choice.py",
        "np.minimum(counts[order], crossed)",
        "counts[order]",
        SUMS,
    ),
    Fault(
        "pairs: the first people instead of a sample",
        "recovery/taste_choice.py",
        "default_rng([seed, 3]).permutation(people)",
        "default_rng([seed, 3]).permutation(1) + people",
        SUMS,
    ),
    Fault("left: not squared", "kernels/likings.py", "squares[a] += left * left", "squares[a] += abs(left)", MOMENTS),
    Fault(
        "left: offsets stay in",
        "kernels/likings.py",
        "likings, chance, shifts) - own[i]",
        "likings, chance, shifts)",
        MOMENTS,
    ),
    Fault(
        "cells: a chance counts whole",
        "kernels/cells.py",
        "raters[z, rated[t]] += chance[i, z]",
        "raters[z, rated[t]] += 1.0",
        SUMS,
    ),
    Fault(
        "cells: squares of the first part",
        "kernels/cells.py",
        "        total = 0.0\n        for i in range(edges[part]",
        "        total = 0.0 * part\n        for i in range(edges[0]",
        SUMS,
    ),
    Fault(
        "kinds: only the sample has chances",
        "recovery/taste_states.py",
        "keepdims=True)) * used[:, None]",
        "keepdims=True)) * before.any(axis=1, keepdims=True)",
        SUMS,
    ),
    Fault(
        "kinds: shifts of those not in use",
        "recovery/taste_states.py",
        "keepdims=True)) * used[:, None]",
        "keepdims=True))",
        SUMS,
    ),
    Fault("symmetric: times nothing", "kernels/symmetric.py", "alpha, a, n, x", "beta, a, n, x", SUMS),
]
