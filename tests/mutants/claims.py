"""Faults in how a claim is judged."""

from tests.mutants.fault import Fault

CLAIMS = ("tests/test_claims.py",)
PAIRING = ("tests/test_claims_pairing.py",)
_CHECK = "paper/claims/check.py"
_NUMBERS = "paper/claims/numbers.py"
_CURVES = "paper/claims/curves.py"
_SWEEPS = "paper/claims/sweeps.py"
_BEYOND = "paper/claims/beyond.py"

FAULTS = [
    Fault(
        "claims: 2 standard errors for Student's t",
        _CHECK,
        "reach(len(values), level) * error",
        "2.0 * error",
        CLAIMS,
    ),
    Fault(
        "claims: one-sided interval",
        "simulation/intervals.py",
        "0.5 + level / 2.0",
        "level",
        CLAIMS,
    ),
    Fault(
        "claims: sd of the draws, not of a sample",
        _CHECK,
        "values.std(ddof=1)",
        "values.std()",
        CLAIMS,
    ),
    Fault(
        "claims: draws are not paired", _NUMBERS, "rows[column].to_numpy()", "rows[column].sort().to_numpy()", PAIRING
    ),
    Fault(
        "claims: draws with gaps",
        _NUMBERS,
        'rows["draw"].to_list() != list(range(rows.height))',
        "False",
        CLAIMS,
    ),
    Fault(
        "claims: two draws settle",
        _CHECK,
        "LEAST_DRAWS = 3",
        "LEAST_DRAWS = 2",
        CLAIMS,
    ),
    Fault(
        "claims: the mean decides",
        _CHECK,
        "if above < low and high < below:",
        "if above < effect < below:",
        CLAIMS,
    ),
    Fault(
        "claims: the best setting decides",
        _CHECK,
        '("does not hold", "not settled", "holds")',
        '("holds", "not settled", "does not hold")',
        CLAIMS,
    ),
    Fault(
        "claims: no correction for many settings",
        _CHECK,
        "1.0 - (1.0 - LEVEL) / among",
        "LEVEL",
        CLAIMS,
    ),
    Fault(
        "claims: 3 times is comparable",
        _CHECK,
        "COMPARABLE = 1.5",
        "COMPARABLE = 3.0",
        CLAIMS,
    ),
    Fault(
        "claims: a little better is vastly",
        _CHECK,
        "VASTLY = 0.5",
        "VASTLY = 0.95",
        CLAIMS,
    ),
    Fault(
        "claims: twice is constant",
        _CHECK,
        "CONSTANT = 1.25",
        "CONSTANT = 2.0",
        CLAIMS,
    ),
    Fault(
        "claims: growth is a fall", _NUMBERS, "np.subtract(*both(along[b], along[a]))", "along[a] - along[b]", CLAIMS
    ),
    Fault(
        "claims: only the last step",
        _NUMBERS,
        "np.subtract(*both(along[b], along[a])) for a, b in pairwise(along)}",
        "np.subtract(*both(along[b], along[a])) for a, b in list(pairwise(along))[-1:]}",
        CLAIMS,
    ),
    Fault(
        "claims: only the last ratio",
        _NUMBERS,
        "first, *others = along",
        "first, *_, last = along; others = [last]",
        CLAIMS,
    ),
    Fault(
        "claims: ratios are averaged as they are",
        _CHECK,
        'if kind == "ratio":\n        low',
        'if kind == "no":\n        low',
        CLAIMS,
    ),
    Fault(
        "claims: shares are taken for normal",
        _CHECK,
        'if kind == "share":',
        'if kind == "no":',
        CLAIMS,
    ),
    Fault(
        "claims: no spread is certainty",
        _CHECK,
        " and wide_low < wide_high:",
        ":",
        CLAIMS,
    ),
    Fault(
        "claims: constant may fall",
        _SWEEPS,
        "above=1 / CONSTANT,\n        below=CONSTANT,\n        detail=f\"{along_text(along, 'k')}",
        "below=CONSTANT,\n        detail=f\"{along_text(along, 'k')}",
        CLAIMS,
    ),
    Fault(
        "claims: flat may fall",
        _SWEEPS,
        'measure="ratio to m = 20",\n        above=1 / ALIKE,',
        'measure="ratio to m = 20",',
        CLAIMS,
    ),
    Fault(
        "claims: TS on the top actions left out",
        _SWEEPS,
        '"mts": "mTS", "ts-top": "TS top actions"',
        '"mts": "mTS"',
        CLAIMS,
    ),
    Fault(
        "claims: noise on both left out",
        "paper/claims/data.py",
        '"noise on both": lost["different-noisy"] / lost["same"],',
        "",
        CLAIMS,
    ),
    Fault(
        "claims: the last draws are compared",
        _NUMBERS,
        "return one[:draws], other[:draws]",
        "return one[-draws:], other[-draws:]",
        CLAIMS,
    ),
    Fault(
        "claims: curves are taken for ends", "paper/claims/data.py", 'kind="final", level=level', "level=level", CLAIMS
    ),
    Fault(
        "claims: six of ten is nearly always",
        _CURVES,
        "NEARLY_ALWAYS = 0.95",
        "NEARLY_ALWAYS = 0.6",
        CLAIMS,
    ),
    Fault(
        "claims: recovered models at true ones' level",
        "paper/claims/data.py",
        "for level in (TRUE, *RECOVERED):",
        "for level in RECOVERED:",
        CLAIMS,
    ),
    Fault(
        "claims: the margin is dropped",
        _CURVES,
        'measure="lpbTS / TS", below=VASTLY',
        'measure="lpbTS / TS", below=1.0',
        CLAIMS,
    ),
    Fault(
        "claims: the other policy is worse",
        _CURVES,
        'return judge(claim, lpb - mts, measure="lpbTS − mTS", below=0, detail=means_text({"lpbTS": lpb, "mTS": mts}))',
        'return judge(claim, mts - lpb, measure="lpbTS − mTS", below=0, detail=means_text({"lpbTS": lpb, "mTS": mts}))',
        CLAIMS,
    ),
    Fault(
        "claims: MovieLens told one thing only",
        "paper/claims/data.py",
        '{"told the expected means": lpb - mts, "told the common means": lpb - common}',
        '{"told the common means": lpb - common}',
        CLAIMS,
    ),
    Fault("ladder: a little is a third", _BEYOND, "0.80, 0.87, 0.68,", "0.80, 0.87, 0.90,", CLAIMS),
    Fault("ladder: compared with TS", _BEYOND, "to: str = BASE", 'to: str = "ts"', CLAIMS),
    Fault("ladder: the mean for a quantile", _BEYOND, 'BASE, "regret_q99", setting', 'BASE, "regret", setting', CLAIMS),
    Fault("ladder: the mean serves the worst", _BEYOND, "name, IDS, column=column)", "name, IDS)", CLAIMS),
    Fault(
        "ladder: sizes left out", _BEYOND, 'for name in ("ladder-sizes", "ladder-gaps")', "for name in _GAPS", CLAIMS
    ),
    Fault("ladder: only the worst error", _BEYOND, "only=_MISLED, claim=_WRONG", "only=(WRONG,), claim=_WRONG", CLAIMS),
    Fault("ladder: a true model is wrong", _BEYOND, "for error in ERRORS if error)", "for error in ERRORS)", CLAIMS),
    Fault("ladder: mTS is compared with lpbTS", _BEYOND, '"mts", to="ts")', '"mts")', CLAIMS),
    Fault(
        "ladder: lpb-utility left out", _BEYOND, 'for policy in ("lpb-utility", IDS):', "for policy in (IDS,):", CLAIMS
    ),
    Fault("ladder: twice is as much", _BEYOND, "TWICE = 2.0", "TWICE = 1.0", CLAIMS),
    Fault("MovieLens: more than 28 is low", "paper/claims/data.py", "LOW = 28.0", "LOW = 40.0", CLAIMS),
    Fault(
        "MovieLens: lpbTS with the shrunk model",
        "paper/claims/data.py",
        '_ends(tables, name, "lpbts", FREE, key)',
        '_ends(tables, name, "lpbts", SHRUNK, key)',
        CLAIMS,
    ),
]
