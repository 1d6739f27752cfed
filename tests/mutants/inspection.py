"""Faults in what is shown of a model: the pairs that tell states apart, and what is known."""

from tests.mutants.fault import Fault

PAIRS = ("tests/test_telling_pairs.py",)
SHOWN = ("tests/test_inspect.py",)
SEARCH = "recovery/telling_pairs.py"
CONTRASTS = "views/contrasts.py"

FAULTS = [
    Fault("pairs: errors do not matter", SEARCH, "np.pi * variance / 8.0", "0.0 * variance", PAIRS),
    Fault(
        "pairs: certain orders, not answers, are ranked", SEARCH, "np.asarray(expit((", "np.asarray(1.0 * (0 < (", PAIRS
    ),
    Fault(
        "pairs: states count alike",
        SEARCH,
        "self.model.prior @ (self.known",
        "0.2 * np.ones(len(self.known)) @ (self.known",
        PAIRS,
    ),
    Fault("pairs: the second is found without the first", SEARCH, "more = self._told(left)", "more = alone", PAIRS),
    Fault("pairs: an action comes again at once", SEARCH, "np.where(fresh, more, 0.0), ", "", PAIRS),
    Fault("pairs: nothing takes the place of what is told", SEARCH, ", np.where(fresh, alone, 0.0))", ")", PAIRS),
    Fault(
        "pairs: a state that does not know answers no",
        SEARCH,
        "np.where(known > 0, answers, usual)",
        "answers[None]",
        PAIRS,
    ),
    Fault(
        "pairs: near places are as good as far ones",
        SEARCH,
        "top[np.argmax(np.where(",
        "top[np.argmin(np.where(",
        PAIRS,
    ),
    Fault("pairs: whichever comes first", SEARCH, "if answers[int(np.argmax(known))] < 0.5:", "if False:", PAIRS),
    Fault(
        "pairs: any candidates",
        SEARCH,
        "np.argsort(-_contest(model, known)",
        "np.argsort(_contest(model, known)",
        PAIRS,
    ),
    Fault(
        "apart: the state is one of the others", SEARCH, "total - self.model.prior[state] * part[state]", "total", PAIRS
    ),
    Fault("apart: the wrong way round", SEARCH, "if p > q else", "if p < q else", PAIRS),
    Fault("ties are an ordering", CONTRASTS, "TIES if alike or", "TIES if", SHOWN),
    Fault("a log of ties is an ordering", CONTRASTS, "(fit.ties or 0.0) > 1.0 - EDGE", "False", SHOWN),
    Fault(
        "few actions are listed twice",
        "views/inspection.py",
        "max(top, len(placed) - top)",
        "max(0, len(placed) - top)",
        SHOWN,
    ),
    Fault(
        "a score below a coin's is good",
        "views/model_facts.py",
        "fit.heldout < COIN + LITTLE",
        "fit.heldout < -9",
        SHOWN,
    ),
    Fault(
        "the ends of a taste meet",
        "views/model_facts.py",
        "min(top, taste.n_actions // 2)",
        "min(top, taste.n_actions)",
        SHOWN,
    ),
    Fault("unsure orders are not marked", "views/pair_tables.py", "1.0 - SURE < chance < SURE", "False", SHOWN),
    Fault(
        "no word when names match nothing",
        "recovery/action_names.py",
        "if any(str(label) in names",
        "if names or any(str(label) in names",
        SHOWN,
    ),
    Fault(
        "the model's own names are not used",
        "views/inspection.py",
        "if model.names is None else model.names",
        "if True else ()",
        SHOWN,
    ),
]
