"""Faults in what is read: layouts, rankings, frames, second ratings, decimal commas, names that are nearly right."""

from tests.mutants.fault import Fault

LAYOUTS = ("tests/test_recovery_layouts.py",)
PREFLIB = ("tests/test_recovery_preflib.py",)
FRAMES = ("tests/test_recovery_frames.py",)
NAMES = ("tests/test_did_you_mean.py",)
COMMAND = ("tests/test_cli_fit.py",)

FAULTS = [
    Fault(
        "wide: a person twice is certain",
        "recovery/wide.py",
        '"person").is_duplicated()',
        '"person").is_null()',
        LAYOUTS,
    ),
    Fault("wide: an empty table is certain", "recovery/wide.py", "len(cells) > 0 and", "True and", LAYOUTS),
    Fault(
        "wide: columns mixed up",
        "recovery/wide.py",
        '.gather(cells["action"])',
        '.gather(cells["action"][::-1])',
        LAYOUTS,
    ),
    Fault("wide: no row is empty", "recovery/wide.py", 'int(rows - blank - cells["row"].n_unique())', "0", LAYOUTS),
    Fault("wide: large numbers", "recovery/wide.py", " & (value.abs() <= validate.LARGEST)", "", LAYOUTS),
    Fault(
        "wide: NaN is a rating",
        "recovery/numbers.py",
        "column.is_null() | column.is_nan() if",
        "column.is_null() if",
        LAYOUTS,
    ),
    Fault("wide: n/a is a rating", "recovery/numbers.py", '"n/a", ', "", LAYOUTS),
    Fault("layout: time is an action", "recovery/layouts.py", '"timestamp",\n', "", LAYOUTS),
    Fault("layout: one column is enough", "recovery/layouts.py", "len(others) < 2 or", "False or", LAYOUTS),
    Fault(
        "layout: places in any order",
        "recovery/layouts.py",
        "places == list(range(1, len(others) + 1))",
        "len(places) == len(others)",
        LAYOUTS,
    ),
    Fault(
        "layout: names stand twice", "recovery/columns.py", 'if f"{column}{AGAIN}0" in columns:', "if False:", LAYOUTS
    ),
    Fault("rankings: the last is best", "recovery/rankings.py", "rating=actions + 1 - pl", "rating=pl", LAYOUTS),
    Fault("rankings: ties do not share", "recovery/rankings.py", 'rank("average")', 'rank("ordinal")', LAYOUTS),
    Fault("rankings: places over all", "recovery/rankings.py", '.over("person")', "", LAYOUTS),
    Fault("rankings: from nought", "recovery/rankings.py", "rating=actions + 1 -", "rating=actions -", LAYOUTS),
    Fault("repeats: the first is kept", "recovery/repeats.py", 'keep="last"', 'keep="first"', LAYOUTS),
    Fault("repeats: the median", "recovery/repeats.py", '"rating").mean()', '"rating").median()', LAYOUTS),
    Fault(
        "repeats: rows as they come",
        "recovery/repeats.py",
        'rows = frame.sort("row", maintain_order=True)',
        'rows = frame.sort("rating")',
        LAYOUTS,
    ),
    Fault("repeats: not counted", "recovery/repeats.py", "len(frame) - len(left)", "0", LAYOUTS),
    Fault(
        "commas: thousands are decimals",
        "recovery/numbers.py",
        "pl.when(text.str.contains(_POINTS)).then(whole)",
        "pl.when(False).then(whole)",
        LAYOUTS,
    ),
    Fault(
        "commas: points stay",
        "recovery/numbers.py",
        'pl.when(~text.str.contains(".", literal=True)).then(text)',
        "text",
        LAYOUTS,
    ),
    Fault(
        "preflib: one voter each",
        "recovery/preflib.py",
        "np.repeat(np.arange(len(voters)), voters)",
        "np.arange(len(voters))",
        PREFLIB,
    ),
    Fault("preflib: counts are not looked at", "recovery/preflib.py", "if number != have[key]:", "if False:", PREFLIB),
    Fault(
        "preflib: ties apart",
        "recovery/preflib.py",
        "for i, group in enumerate(groups, start=1) for _ in group]",
        "for i, _ in enumerate(order, start=1)]",
        PREFLIB,
    ),
    Fault("preflib: complete when not", "recovery/preflib.py", 'form.endswith("c") and', "False and", PREFLIB),
    Fault("preflib: ties where none are", "recovery/preflib.py", 'form.startswith("s") and', "False and", PREFLIB),
    Fault(
        "preflib: names by another number",
        "recovery/preflib.py",
        "labels.gather(flat[at] - 1)",
        "labels.gather(flat[at] - 2)",
        PREFLIB,
    ),
    Fault(
        "pandas: missing is nought",
        "recovery/frames.py",
        "series.set(pl.Series(missing), None) if missing.any() else series",
        "series",
        FRAMES,
    ),
    Fault("pandas: the index is lost", "recovery/frames.py", "if name is not None]", "if False]", FRAMES),
    Fault(
        "frames: categories are text",
        "recovery/read.py",
        "text = _plain(column if dtype == pl.String else column.unique().cast(pl.String))",
        "text = _plain(column if dtype == pl.String else pl.lit('x'))",
        FRAMES,
    ),
    Fault("excel: texts are not counted", "files/excel.py", "cells * longest > most", "False", FRAMES),
    Fault(
        "excel: no reader is asked for",
        "recovery/rating_files.py",
        'find_spec("fastexcel") is None',
        'find_spec("fastexcel") == 7',
        FRAMES,
    ),
    Fault("names: case counts", "validate/values.py", "text.casefold() if", "text if", NAMES),
    Fault("names: any length", "validate/values.py", "0 < len(text) <= LONGEST_GUESS", "0 < len(text)", NAMES),
    Fault(
        "command: duplicates are not passed on",
        "cli/reading.py",
        "signature(Reading.of).parameters}",
        "signature(Reading.of).parameters if name != 'duplicates'}",
        COMMAND,
    ),
    Fault(
        "command: decimal commas are not passed on",
        "cli/reading.py",
        "signature(Reading.of).parameters}",
        "signature(Reading.of).parameters if name != 'decimal_comma'}",
        COMMAND,
    ),
    Fault(
        "command: the rank is not passed on",
        "cli/reading.py",
        "signature(Reading.of).parameters}",
        "signature(Reading.of).parameters if name != 'rank'}",
        COMMAND,
    ),
    Fault(
        "command: says nothing of the layout",
        "cli/reading.py",
        'if asked == "auto" and found in _TAKEN:',
        "if False:",
        COMMAND,
    ),
]
