"""Faults in logs in files, and in fits that go through blocks of people."""

from tests.mutants.fault import Fault

PARTED = ("tests/test_recovery_parted.py",)
MEMORY = ("tests/test_recovery_memory.py",)

FAULTS = [
    Fault(
        "scale: a block ends one person late",
        "recovery/blocks.py",
        "before + size)) + 1,",
        "before + size)) + 2,",
        PARTED,
    ),
    Fault(
        "scale: the first blocks are folded twice",
        "recovery/in_files.py",
        "for number in range(low, high)],",
        "for number in range(max(low - 1, 0), high)],",
        PARTED,
    ),
    Fault(
        "scale: weights are folded like whole numbers",
        "recovery/counting.py",
        "        if pairs_per_person is None:\n            totals = log.folded",
        "        if True:\n            totals = log.folded",
        PARTED,
    ),
    Fault(
        "scale: a person's luck is that of their place in the block",
        "recovery/counting.py",
        "first=int(index[0]), threads=threads)\n    place = iter(totals)",
        "first=0, threads=threads)\n    place = iter(totals)",
        PARTED,
    ),
    Fault(
        "scale: people aside count twice",
        "recovery/counting.py",
        "            mine = (labels == state.number) & (aside == bool(part))",
        "            mine = (labels == state.number) & (aside | (not part))",
        ("tests/test_recovery_pairs.py",),
    ),
    Fault(
        "scale: a sample's clusters are everybody's labels by place",
        "recovery/cluster.py",
        "labels = np.concatenate(list(log.each(_nearest, scale, likings, centres)))",
        "labels = np.resize(labels, people)",
        PARTED,
    ),
    Fault(
        "scale: the farthest centre",
        "recovery/cluster.py",
        "labels: IntArray = away.argmin(axis=1)",
        "labels: IntArray = away.argmax(axis=1)",
        PARTED,
    ),
    Fault(
        "scale: filters before repeats are gone",
        "recovery/buckets.py",
        "    rows = _changed(rows, reading, ranks, actions, tally)\n",
        "    tally.of_actions += np.bincount(rows['action'], minlength=actions)\n"
        "    rows = _changed(rows, reading, ranks, actions, tally)\n",
        PARTED,
    ),
    Fault(
        "scale: equal people are sorted by rating",
        "recovery/buckets.py",
        "    order = order_by(action, np.arange(len(rows)), actions)\n",
        "    order = np.argsort(rows['rating'], kind='stable')\n",
        PARTED,
    ),
    Fault(
        "scale: people who lost all ratings stay",
        "recovery/partition.py",
        "        tally.left[person[starts]] = True",
        "        tally.left[:] = True",
        PARTED,
    ),
    Fault(
        "scale: actions keep the numbers they had",
        "recovery/partition.py",
        "person[mine], number[action[mine]], rating[mine]",
        "person[mine], action[mine], rating[mine]",
        PARTED,
    ),
    Fault(
        "scale: what is left of a block is lost",
        "recovery/parted.py",
        "        self._held = [(counts[last:], action[rest], rating[rest])]",
        "        self._held = []",
        PARTED,
    ),
    Fault(
        "scale: rows of later files are counted from the first",
        "recovery/rating_files.py",
        "row {index - ends[file] + self.rows[file] + 1}",
        "row {index + 1}",
        PARTED,
    ),
    Fault(
        "scale: always in memory",
        "recovery/partition.py",
        "    return READER + rows * IN_MEMORY <= most",
        "    return True",
        PARTED,
    ),
    Fault(
        "scale: a limit of memory is not looked at when passes are made",
        "recovery/counting.py",
        " or not room.shared(taken + state.size, waiting=waiting):",
        ":",
        MEMORY,
    ),
    Fault(
        "scale: workers count what they have no room for",
        "recovery/counting.py",
        "        log = log.here\n",
        "        pass\n",
        MEMORY,
    ),
    Fault(
        "scale: what is too large is begun",
        "recovery/memory.py",
        "        if self.asked and self.taken + size > self.most:",
        "        if False:",
        MEMORY,
    ),
    Fault(
        "scale: a number without a unit is bytes",
        "validate/values.py",
        "([kMGT])(i?)B?|B)",
        "([kMGT]?)(i?)B?)",
        MEMORY,
    ),
    Fault(
        "scale: workers who do not see the files begin",
        "recovery/in_files.py",
        "            if not sees:",
        "            if False:",
        MEMORY,
    ),
    Fault(
        "scale: KMeans sees the first people in place of those drawn",
        "recovery/cluster.py",
        "    chosen[shown] = True",
        "    chosen[: len(shown)] = True",
        MEMORY,
    ),
    Fault(
        "scale: scratch forgets what buckets took",
        "files/arrays.py",
        "        self._scratch.grow(rows.nbytes)\n",
        "",
        MEMORY,
    ),
    Fault(
        "scale: KMeans starts at once whatever the room",
        "recovery/cluster.py",
        "    threads = min(log.pool.count, max(log.room.left // seen_size(log, shown) - 1, 1))",
        "    threads = log.pool.count",
        MEMORY,
    ),
]
