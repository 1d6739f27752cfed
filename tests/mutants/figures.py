"""Faults in the synthetic figures: grids, sizes, worlds, policies and error bars."""

from tests.mutants.fault import Fault

FIGURES = ("tests/test_figures.py",)
LADDER = ("tests/test_ladder.py",)
_SWEEPS = "paper/figures/sweeps.py"
_LADDER = "paper/figures/ladder.py"

FAULTS = [
    Fault("sweep: a value left out", _SWEEPS, "(5, 10, 20, 30, 40, 50)", "(5, 10, 20, 30, 50)", FIGURES),
    Fault("sweep: 10 actions for 20", _SWEEPS, '{"states": m, "actions": 20}', '{"states": m, "actions": 10}', FIGURES),
    Fault("sweep: no noise of 5", _SWEEPS, "(0.5, 1.0, 2.0, 5.0)", "(0.5, 1.0, 2.0, 4.0)", FIGURES),
    Fault("sweep: levels do not spread", _SWEEPS, '"spread": 2 * gap', '"spread": gap', FIGURES),
    Fault("sweep: mTS starts uniformly", _SWEEPS, '"mts": "mts"', '"mts": partial(expanded, "mts")', FIGURES),
    Fault(
        "sweep: refit for incremental",
        _SWEEPS,
        "partial(expanded, INCREMENTAL)",
        'partial(expanded, "lpbts")',
        FIGURES,
    ),
    Fault("sweep: TS for its top actions", _SWEEPS, '"ts-top": "ts-top"', '"ts-top": "ts"', FIGURES),
    Fault("sweep: a wide prior called narrow", _SWEEPS, "prior_sd=1.0", "prior_sd=10.0", FIGURES),
    Fault(
        "sweep: the scale is forgotten",
        _SWEEPS,
        'SyntheticWorld(scale=s["scale"], **s["world"])',
        'SyntheticWorld(**s["world"])',
        FIGURES,
    ),
    Fault(
        "sweep: error bars over people", _SWEEPS, "se=pl.col(column).std()", 'se=pl.col(f"{column}_sd").mean()', FIGURES
    ),
    Fault("size: 20 people a state", "paper/spec.py", "people: int = 50", "people: int = 20", FIGURES),
    Fault("size: 100 rounds", "paper/spec.py", "rounds: int = 200", "rounds: int = 100", FIGURES),
    Fault("size: two draws", "paper/spec.py", "draws: int = 5", "draws: int = 2", FIGURES),
    Fault("curves: same scale only", "paper/figures/regret_curves.py", 'scale=s["scale"])', 'scale="same")', FIGURES),
    Fault(
        "bound figure: a tenth of the rounds",
        "paper/figures/lower_bound.py",
        "100 * size.rounds",
        "10 * size.rounds",
        FIGURES,
    ),
    Fault(
        "duels: rewards for Bradley-Terry",
        "paper/figures/relative.py",
        'DuellingWorld(WORLD, s["comparison"])',
        "DuellingWorld(WORLD)",
        FIGURES,
    ),
    Fault("duels: a duel is one play", "paper/figures/relative.py", "round=2 * pl.col", "round=1 * pl.col", FIGURES),
    Fault(
        "recovery figure: EM for two-stage",
        "paper/figures/recovery.py",
        '"em": recover_em(log, scale="raw",',
        '"em": recover_two_stage(log, scale="raw",',
        FIGURES,
    ),
    Fault("recovery figure: shrunk", "paper/figures/recovery.py", '"shrink": False', '"shrink": True', FIGURES),
    Fault("ladder: a gap left out", _LADDER, '"exponential", "cliff", "steps")', '"exponential", "steps")', LADDER),
    Fault("ladder: no swap of 0.3", _LADDER, "(0.0, 0.1, 0.3)", "(0.0, 0.1, 0.2)", LADDER),
    Fault("ladder: the same scale", _LADDER, 'SyntheticWorld(scale="different"', 'SyntheticWorld(scale="same"', LADDER),
    Fault(
        "ladder: the 99 % is the 98 %",
        _LADDER,
        "regret.quantile(q / 100",
        "regret.quantile((q - q // 99) / 100",
        LADDER,
    ),
    Fault("ladder: lpbTS starts from its prior", _LADDER, "BASE: partial(expanded, BASE)", "BASE: BASE", LADDER),
    Fault("ladder: refit for marginal", _LADDER, "partial(expanded, MARGINAL)", "partial(expanded, BASE)", LADDER),
    Fault(
        "ladder: draws are not paired",
        _LADDER,
        'keys = ["size", "setting", "draw"]',
        'keys = ["size", "setting"]',
        LADDER,
    ),
    Fault("ladder: 10 people a state", _LADDER, "else size.people\n", "else size.people // 5\n", LADDER),
    Fault("world: wider steps", "worlds/synthetic.py", "jitter: float = 0.05", "jitter: float = 0.5", FIGURES),
    Fault("world: C for C̄", "worlds/synthetic.py", "else 6.0) if", "else 9.0) if", FIGURES),
    Fault(
        "curves: error over people, not draws",
        "simulation/results.py",
        "if len(draws) > 1:",
        "if len(draws) > 99:",
        ("tests/test_results.py", "tests/test_sums.py"),
    ),
    Fault(
        "growth: per log T of all rounds",
        "simulation/growth.py",
        "math.log(rounds / early))",
        "math.log(rounds))",
        ("tests/test_figures.py::test_growth_is_what_regret_gains_late",),
    ),
]
