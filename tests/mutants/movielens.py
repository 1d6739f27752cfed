"""Faults in what the paper's MovieLens experiment says."""

from tests.mutants.fault import Fault

TASK = ("tests/test_movielens.py",)
OFFERS = ("tests/test_movielens_offers.py",)
RUN = ("tests/test_movielens_figure.py",)
_TASK = "paper/movielens.py"
_PARTS = "return np.sort(order[:half]), np.sort(order[half:quarter]), np.sort(order[quarter:])"
_RUN = "paper/figures/movielens.py"
_MODEL_OF = "models[level], errors[level] = task.recovered(log, environment, clustering=clustering, threads=threads)"

FAULTS = [
    Fault("task: σ for σ²", _TASK, "float(np.sqrt(0.5))", "0.5", TASK),
    Fault("task: another ζ", _TASK, "NARROWEST = 1.5", "NARROWEST = 1.0", TASK),
    Fault("task: people of 100 ratings", _TASK, "LEAST = 200", "LEAST = 100", TASK),
    Fault("task: four states", _TASK, "STATES = 5", "STATES = 4", TASK),
    Fault("task: everybody is trained on", _TASK, _PARTS, _PARTS.replace("[:half]", ""), TASK),
    Fault(
        "task: bandits meet training people", _TASK, _PARTS, _PARTS.replace("half:quarter", ": quarter - half"), TASK
    ),
    Fault(
        "task: offline people are the bandits'",
        _TASK,
        _PARTS,
        _PARTS.replace("[quarter:", "[half : half + people - quarter"),
        TASK,
    ),
    Fault("task: states of other people", _TASK, "clusters.labels, bandit)", "clusters.labels, offline)", TASK),
    Fault(
        "task: people in the order of the file", _TASK, ".permutation(people)", ".integers(1) + np.arange(people)", TASK
    ),
    Fault("task: 30 offered", _TASK, "OFFERED = 300", "OFFERED = 30", OFFERS),
    Fault("task: logs from 20", _TASK, "LOGGED = (200, 300)", "LOGGED = (20, 300)", TASK),
    Fault("task: logs up to 200", _TASK, "high + 1, size", "low + 1, size", TASK),
    Fault("task: logs with sd 0.5", _TASK, "environment.noise * rng", "environment.noise**2 * rng", TASK),
    Fault("task: logs without noise", _TASK, "environment.noise * rng", "0.0 * rng", TASK),
    Fault("task: farthest along, not nearest", _TASK, "(centres**2).sum(axis=1) - 2.0", "-2.0", TASK),
    Fault("task: rescaled to [0, 5]", _TASK, "LOWEST + (HIGHEST - LOWEST) * (along", "HIGHEST * (along", TASK),
    Fault("task: noise where there is none", _TASK, '"different", 0.0)', '"different", NOISE)', TASK),
    Fault(
        "task: intervals of any width",
        _TASK,
        "rng.uniform(low + NARROWEST, HIGHEST)",
        "rng.uniform(low, HIGHEST)",
        TASK,
    ),
    Fault("task: other expected means", _TASK, "(HIGHEST + NARROWEST - low) / 2.0", "(HIGHEST - low) / 2.0", TASK),
    Fault(
        "task: mTS is told the common means", _TASK, "means=expected(self.means, environment)", "means=self.means", TASK
    ),
    Fault("task: people drawn with replacement", _TASK, "replace=people > len(self.bandit)", "replace=True", TASK),
    Fault("task: always clustered raw", _TASK, "scale=clustering", 'scale="raw"', TASK),
    Fault("task: recovered means of other states", _TASK, "means=means[order],", "means=means,", TASK),
    Fault("task: recovered with shrinkage", _TASK, "shrink: bool = False", "shrink: bool = True", TASK),
    Fault("task: the true model is shrunk", _TASK, "heldout=0, shrink=False", "heldout=0, shrink=True", TASK),
    Fault("task: errors of other states", _TASK, "errors=fitted.errors[order]", "errors=fitted.errors", TASK),
    Fault("task: recovered states are not matched", _TASK, "matching.assignment if", "np.arange(STATES) if", TASK),
    Fault("task: recovered by the true ordering", _TASK, "fitted.orderings[order]", "self.model.orderings", TASK),
    Fault(
        "task: filter by movies first",
        "recovery/read.py",
        '(("person", low_person, "people"), ("action", low_action, "actions"))',
        '(("action", low_action, "actions"), ("person", low_person, "people"))',
        TASK,
    ),
    Fault("task: all movies have one genre", "recovery/action_names.py", 'tuple(row[2].split("|"))', "(row[2],)", TASK),
    Fault("figure: 50 people", _RUN, "PEOPLE = 100", "PEOPLE = 50", RUN),
    Fault(
        "figure: true model for recovered",
        _RUN,
        _MODEL_OF,
        _MODEL_OF.replace("task.", "people.model, task.").replace("=threads)", "=threads)[1]"),
        RUN,
    ),
    Fault(
        "figure: raw for scale-free", _RUN, '"recovered, scale-free": "cosine"', '"recovered, scale-free": "raw"', RUN
    ),
    Fault("figure: lpbTS always has the true model", _RUN, "LpbTS(model,", "LpbTS(models[TRUE],", RUN),
    Fault("figure: TS has no limit to top actions", _RUN, "noise=NOISE, top=True", "noise=NOISE", RUN),
    Fault(
        "figure: mTS starts uniformly", _RUN, "MTS(model, noise=NOISE)", 'MTS(model, noise=NOISE, first="uniform")', RUN
    ),
    Fault(
        "figure: lpbTS starts from its prior",
        _RUN,
        'LpbTS(model, noise=NOISE, first="uniform")',
        "LpbTS(model, noise=NOISE)",
        RUN,
    ),
    Fault(
        "figure: policies are told another noise",
        _RUN,
        "TS(models[TRUE], noise=NOISE)",
        "TS(models[TRUE], noise=1.0)",
        RUN,
    ),
    Fault("figure: the shrunk model is not", _RUN, 'clustering="cosine", shrink=True', 'clustering="cosine"', RUN),
    Fault("figure: a guess of the noise is known", _RUN, "Rewards(noise=NOISE).as_guess", "Rewards(noise=NOISE)", RUN),
    Fault("figure: z-scores without the sd", _RUN, " / people.means.std(axis=1)", "", RUN),
    Fault("figure: z-scores' sd for their error", _RUN, " / np.sqrt(len(score))", "", RUN),
    Fault("figure: regret of the last round only", _RUN, "trace.regret.sum(axis=1)", "trace.regret[:, -1]", RUN),
    Fault(
        "figure: error over people, not draws",
        _RUN,
        'regret_se=pl.col("regret").std()',
        'regret_se=pl.col("regret_sd").mean()',
        RUN,
    ),
    Fault("figure: every draw is the same", _RUN, 'SeedSequence([seed, s["draw"]])', "SeedSequence([seed, 0])", RUN),
    Fault(
        "offers: genres in fixed order",
        "kernels/offers.py",
        "turn[g], turn[other] = turn[other], turn[g]",
        "turn[g], turn[other] = turn[g], turn[other]",
        OFFERS,
    ),
    Fault(
        "offers: a movie twice",
        "kernels/offers.py",
        "if stamp[candidate] != mark:",
        "if stamp[candidate] != -1:",
        OFFERS,
    ),
    Fault(
        "offers: one genre all the time",
        "kernels/offers.py",
        "g = turn[at % genres]",
        "g = turn[at // size % genres]",
        OFFERS,
    ),
    Fault(
        "offers: each round the same",
        "kernels/offers.py",
        "first_person + p, t, OFFER, draw), width)",
        "first_person + p, 0, OFFER, draw), width)",
        OFFERS,
    ),
]
