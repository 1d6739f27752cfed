"""Faults in how a claim is judged."""

from tests.mutants.fault import Fault

CLAIMS = ("tests/test_claims.py",)
PAIRING = ("tests/test_claims_pairing.py",)
_CHECK = "paper/claims/check.py"

FAULTS = [
    Fault(
        "claims: 2 standard errors for Student's t",
        _CHECK,
        "float(stats.t.ppf(0.5 + level / 2.0, len(values) - 1)) * error",
        "2.0 * error",
        CLAIMS,
    ),
    Fault("claims: one-sided interval", _CHECK, "0.5 + level / 2.0", "level", CLAIMS),
    Fault("claims: sd of the draws, not of a sample", _CHECK, "values.std(ddof=1)", "values.std()", CLAIMS),
    Fault("claims: draws are not paired", _CHECK, 'rows.sort("draw")[column]', "rows[column].sort()", PAIRING),
    Fault("claims: draws in any order", _CHECK, 'rows.sort("draw")[column]', "rows[column]", PAIRING),
    Fault("claims: two draws settle", _CHECK, "LEAST_DRAWS = 3", "LEAST_DRAWS = 2", CLAIMS),
    Fault("claims: the mean decides", _CHECK, "if above < low and high < below:", "if above < mean < below:", CLAIMS),
    Fault(
        "claims: the best setting decides",
        _CHECK,
        '("does not hold", "not settled", "holds")',
        '("holds", "not settled", "does not hold")',
        CLAIMS,
    ),
    Fault("claims: no correction for many settings", _CHECK, "1.0 - (1.0 - LEVEL) / among", "LEVEL", CLAIMS),
    Fault("claims: 3 times is comparable", _CHECK, "COMPARABLE = 1.5", "COMPARABLE = 3.0", CLAIMS),
    Fault("claims: a little better is vastly", _CHECK, "VASTLY = 0.5", "VASTLY = 0.95", CLAIMS),
    Fault("claims: twice is constant", _CHECK, "CONSTANT = 1.25", "CONSTANT = 2.0", CLAIMS),
    Fault("claims: growth is a fall", _CHECK, "along[b] - along[a]", "along[a] - along[b]", CLAIMS),
    Fault(
        "claims: the margin is dropped",
        "paper/claims/synthetic.py",
        'measure="lpbTS / TS", below=VASTLY',
        'measure="lpbTS / TS", below=1.0',
        CLAIMS,
    ),
    Fault(
        "claims: the other policy is worse",
        "paper/claims/synthetic.py",
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
]
