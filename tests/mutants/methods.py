"""Faults in EM, clustering, errors by person, shrinkage, Kendall's distance, bounds and top actions."""
"""Faults in EM, clustering, Kendall's distance, bounds, top actions and chances of orders."""

from tests.mutants.fault import Fault

EM = ("tests/test_recovery_em.py",)
CLUSTER = ("tests/test_recovery_cluster.py",)
MATCH = ("tests/test_recovery_match.py",)
BOUND = ("tests/test_theory_bound.py",)
TOP = ("tests/test_top_actions.py",)
SCATTER = ("tests/test_recovery_scatter.py",)
SHRINK = ("tests/test_recovery_shrinkage.py",)
SURE = ("tests/test_recovery_certainty.py",)
MARGINAL = ("tests/test_marginal.py",)

FAULTS = [
    Fault(
        "marginal: from below",
        "kernels/chain.py",
        "(1.0 - nodes[:, None] ** (powers + 1)) / (powers + 1)",
        "(nodes[:, None] ** (powers + 1) - (-1.0) ** (powers + 1)) / (powers + 1)",
        MARGINAL,
    ),
    Fault("marginal: wide panels", "kernels/chain.py", "WIDEST = 2.0", "WIDEST = 6.0", MARGINAL),
    Fault("marginal: short reach", "kernels/chain.py", "REACH = 6.0", "REACH = 4.0", MARGINAL),
    Fault("marginal: no tilt below a place", "kernels/chain.py", "drift = tilt", "drift = 0.0", MARGINAL),
    Fault("marginal: neighbours never meet", "kernels/chain.py", "[HIGH, i] <= b", "[HIGH, i] <= 1e9 + b", MARGINAL),
    Fault(
        "marginal: states are given up early",
        "policies/evidences/marginal.py",
        "HOPELESS = 36.0",
        "HOPELESS = 3.0",
        MARGINAL,
    ),
    Fault(
        "EM: shares are ignored",
        "recovery/estimate.py",
        "log_likelihoods + np.log(shares)",
        "log_likelihoods - np.log(len(shares))",
        EM,
    ),
    Fault(
        "EM: shares stay equal",
        "recovery/em.py",
        "shares = chance.mean(axis=0)",
        "shares = np.full(states, 1 / states)",
        EM,
    ),
    Fault("EM: one start", "recovery/em.py", "runs = self.restarts if self.start is None else 1", "runs = 1", EM),
    Fault("EM: the worst start is kept", "recovery/em.py", "ended.history[-1] > best", "ended.history[-1] < best", EM),
    Fault(
        "EM: people count wholly",
        "recovery/em.py",
        "np.where(chance > NOBODY, chance, 0.0)",
        "np.where(chance > 0.5, 1.0, 0.0)",
        EM,
    ),
    Fault(
        "EM: no prior in what is compared",
        "recovery/em.py",
        "total.sum() - 0.5 * np.sum(utilities**2) / prior_sd**2",
        "total.sum()",
        EM,
    ),
    Fault(
        "EM: errors count people wholly",
        "recovery/em.py",
        "scatter(comparisons, counting(chance[:, z]),",
        "scatter(comparisons, (chance[:, z] > 0.5) * 1.0,",
        EM,
    ),
    Fault(
        "errors: comparisons are independent",
        "recovery/scatter.py",
        "np.sqrt(self.squares + precision)",
        "np.sqrt(self.curvature + precision)",
        SCATTER,
    ),
    Fault("errors: no pseudo-raters", "recovery/scatter.py", "PSEUDO_RATERS = 5.0", "PSEUDO_RATERS = 1e-9", SCATTER),
    Fault(
        "errors: no prior",
        "recovery/scatter.py",
        "/ (self.curvature + precision)",
        "/ (self.curvature + 1e-9)",
        SCATTER,
    ),
    Fault(
        "errors: ties are losses",
        "kernels/scatter.py",
        "0.5 * (through[at] - below[at])",
        "0.5",
        SCATTER,
    ),
    Fault(
        "errors: a cap's weights are forgotten",
        "recovery/scatter.py",
        "people * comparisons.weight",
        "people",
        SCATTER,
    ),
    Fault(
        "shrinkage: none",
        "recovery/estimate.py",
        "return replace(estimate, shrunk=shrunk, without=without)",
        "return estimate",
        SHRINK,
    ),
    Fault("shrinkage: noise is left in Σ", "recovery/shrinkage.py", "np.diag(cov) - level", "np.diag(cov)", SHRINK),
    Fault(
        "shrinkage: each state alone",
        "recovery/shrinkage.py",
        "off = cov * both / (both + m + 1)",
        "off = cov * 0.0",
        SHRINK,
    ),
    Fault(
        "shrinkage: the prior's pull stays",
        "recovery/shrinkage.py",
        "utilities * (1 + precision / bend)",
        "utilities * 1.0",
        SHRINK,
    ),
    Fault(
        "shrinkage: P is not squared off",
        "recovery/shrinkage.py",
        "left = np.diag(cov) - ",
        "left = np.diag(cov) - 0.5 * ",
        SHRINK,
    ),
    Fault(
        "shrinkage: what no state compared is placed too",
        "recovery/estimate.py",
        "np.broadcast_to(never.all(axis=0), never.shape)",
        "np.zeros_like(never)",
        SHRINK,
    ),
    Fault(
        "certainty: errors add up unsquared",
        "recovery/certainty.py",
        "float(_sure(away, np.hypot(errors[one], errors[other])))",
        "float(_sure(away, errors[one] + errors[other]))",
        SURE,
    ),
    Fault("certainty: intervals of 50 %", "recovery/certainty.py", "LEVEL = 0.9", "LEVEL = 0.5", SURE),
    Fault(
        "clusters: raw for cosine",
        "recovery/cluster.py",
        'if scale == "raw":',
        'if scale in ("raw", "cosine"):',
        CLUSTER,
    ),
    Fault(
        "clusters: ratings are not centred",
        "recovery/cluster.py",
        "ratings.rating - ratings.means[owner]",
        "ratings.rating",
        CLUSTER,
    ),
    Fault(
        "clusters: actions are not centred",
        "recovery/cluster.py",
        "values - (sums / np.maximum(raters, 1))[ratings.action]",
        "values",
        CLUSTER,
    ),
    Fault(
        "clusters: the worst start is kept",
        "recovery/cluster.py",
        "best = min(range(restarts)",
        "best = max(range(restarts)",
        CLUSTER,
    ),
    Fault(
        "Kendall: ties are inversions",
        "kernels/kendall.py",
        "values[left] <= values[right]",
        "values[left] < values[right]",
        ("tests/test_kendall.py",),
    ),
    Fault(
        "Kendall: the sign",
        "recovery/match.py",
        "loss[y, z] = 2 * inv",
        "loss[y, z] = 2 - 2 * inv",
        MATCH,
    ),
    Fault(
        "matching: each state takes its nearest",
        "recovery/match.py",
        "assignment[rows] = columns",
        "assignment[rows] = assignment[rows]",
        MATCH,
    ),
    Fault(
        "bound: unpinned for pinned",
        "theory/bounds.py",
        "best, pinned), tolerance)",
        "best, False), tolerance)",
        BOUND,
    ),
    Fault(
        "bound: σ for σ²",
        "theory/bounds.py",
        "found.value * person.sd**2",
        "found.value * person.sd",
        BOUND,
    ),
    Fault(
        "bound: KL without the 2",
        "theory/bounds.py",
        "2.0 * (person.sd / person.gaps[worse])",
        "1.0 * (person.sd / person.gaps[worse])",
        BOUND,
    ),
    Fault(
        "bound: states that agree are confused too",
        "theory/bounds.py",
        "np.flatnonzero(orderings[:, 0] != best)",
        "np.flatnonzero(np.arange(len(orderings)) != person.state)",
        BOUND,
    ),
    Fault(
        "top actions: the last, in runs",
        "policies/policy.py",
        "np.unique(self.model.orderings[:, 0])[None, None, :]",
        "np.unique(self.model.orderings[:, -1])[None, None, :]",
        TOP,
    ),
    Fault(
        "top actions: the last, in an agent",
        "policies/policy.py",
        "np.unique(self.model.orderings[:, 0]) if self.rule.top",
        "np.unique(self.model.orderings[:, -1]) if self.rule.top",
        TOP,
    ),
    Fault(
        "top actions: the least liked of the allowed",
        "kernels/choices.py",
        "if ranks[z, offered[j]] < ranks[z, action]:\n                action = offered[j]\n        i = found",
        "if ranks[z, offered[j]] > ranks[z, action]:\n                action = offered[j]\n        i = found",
        TOP,
    ),
]
