"""Faults in EM, clustering, Kendall's distance, bounds, top actions and tastes."""

from tests.mutants.fault import Fault

EM = ("tests/test_recovery_em.py",)
CLUSTER = ("tests/test_recovery_cluster.py",)
MATCH = ("tests/test_recovery_match.py",)
BOUND = ("tests/test_theory_bound.py",)
TOP = ("tests/test_top_actions.py",)
TASTE = ("tests/test_taste.py",)
TASTE_FIT = ("tests/test_recovery_taste.py",)

FAULTS = [
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
    Fault(
        "taste: nothing lasts",
        "kernels/taste.py",
        "return lasting / (lasting + (1.0 - lasting) / count) if count > 0.0 else 0.0",
        "return 0.0",
        TASTE,
    ),
    Fault(
        "taste: the scale is not learned",
        "kernels/taste.py",
        "-0.5 * x * x - inverse * (0.5 * inverse * twice - mixed) + sums[COUNT] * np.log(inverse)",
        "-0.5 * x * x",
        TASTE,
    ),
    Fault(
        "taste: repeats say nothing of the scale",
        "policies/evidences/taste.py",
        "b.own[taste.SUMS, taste.WITHIN] += spread / noise",
        "b.own[taste.SUMS, taste.WITHIN] += 0.0",
        TASTE,
    ),
    Fault(
        "taste: what is known of the taste stays as wide",
        "kernels/taste.py",
        "row[j] -= step * own[ALONG, j]",
        "row[j] -= 0.0",
        TASTE,
    ),
    Fault(
        "taste: intervals forget the scale",
        "kernels/taste.py",
        "(own[SUMS, SCALE_2] - own[SUMS, SCALE_1] ** 2) * slope * slope",
        "0.0 * slope",
        TASTE,
    ),
    Fault(
        "taste fit: people who rated one of two actions count",
        "recovery/taste.py",
        "seen.products / (seen.raters + shrinkage)",
        "seen.products / (len(seen.means) + shrinkage)",
        TASTE_FIT,
    ),
    Fault(
        "taste fit: noise is kept",
        "recovery/taste.py",
        "1.0 - FLOOR * strengths.min(initial=np.inf)",
        "1.0 - 0.0 * strengths.min(initial=np.inf)",
        TASTE_FIT,
    ),
    Fault(
        "taste fit: widths come from the people they are measured on",
        "recovery/taste_choice.py",
        "for part in (1, 0)]",
        "for part in (0, 1)]",
        TASTE_FIT,
    ),
    Fault(
        "taste fit: everything is told before intervals are looked at",
        "kernels/taste.py",
        "if greedily or greedy == 0:",
        "if True:",
        TASTE_FIT,
    ),
]
