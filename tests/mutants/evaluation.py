"""Faults in evaluations: who is set aside, what is replayed, what references know, and the verdict."""

from tests.mutants.fault import Fault

TESTS = "tests/test_evaluate.py::"
TWINS = (f"{TESTS}test_item_knn_and_ease_equal_their_twins",)
REPLAY = (f"{TESTS}test_a_replay_is_what_an_agent_would_have_done",)
WORDS = (f"{TESTS}test_the_verdict_in_words",)
AWARE = (f"{TESTS}test_nothing_that_is_chosen_or_fitted_depends_on_report_people",)
APART = (f"{TESTS}test_development_people_are_not_in_the_fit_that_they_judge",)
BEST = (f"{TESTS}test_the_best_is_what_was_chosen_or_what_stands_a_harder_test",)
SAYS = (f"{TESTS}test_what_an_evaluation_says",)

FAULTS = [
    Fault(
        "evaluate: report people are fitted",
        "evaluation/split.py",
        "np.concatenate([self.fitted, self.development])",
        "np.concatenate([self.fitted, self.development, self.report])",
        APART,
    ),
    Fault(
        "evaluate: development people are fitted first",
        "evaluation/evaluate.py",
        "first = log.subset(parts.fitted)",
        "first = log.subset(parts.known)",
        APART,
    ),
    Fault(
        "evaluate: report people choose",
        "evaluation/evaluate.py",
        "Replay.of(log, parts.development, rounds=rounds, once=once)",
        "Replay.of(log, parts.report, rounds=rounds, once=once)",
        AWARE,
    ),
    Fault(
        "evaluate: all alike are replayed",
        "evaluation/split.py",
        "able = telling(log)",
        "able = np.arange(len(log.people))",
        (f"{TESTS}test_who_cannot_be_replayed_is_fitted",),
    ),
    Fault(
        "evaluate: everything is played",
        "evaluation/replay.py",
        "log.counts[people] // 2",
        "log.counts[people]",
        (f"{TESTS}test_a_person_plays_half_of_what_they_rated_at_most",),
    ),
    Fault("evaluate: no scale", "evaluation/replay.py", "/ spread[:, None] + self", "/ 1.0 + self", REPLAY),
    Fault("evaluate: actions repeat", "evaluation/replay.py", "once=self.once,", "once=False,", REPLAY),
    Fault("evaluate: luck begins anew", "evaluation/replay.py", "first_person=self.start)", "first_person=0)", REPLAY),
    Fault(
        "evaluate: kNN without shrinkage",
        "evaluation/references.py",
        "(seen.raters / (seen.raters + shrinkage))",
        "1.0",
        TWINS,
    ),
    Fault("evaluate: EASE transposed", "evaluation/references.py", "-inverse / np.diag(inverse)", "-inverse", TWINS),
    Fault("evaluate: no shift", "evaluation/references.py", "amount - shift[:, None] * weight", "amount + 0.0", TWINS),
    Fault("evaluate: no damping", "evaluation/references.py", "said /= size + self.damping", "said /= 1.0", TWINS),
    Fault(
        "evaluate: the ceiling knows the rating itself",
        "evaluation/references.py",
        "others = person - pull * (left / free)[:, None]",
        "others = person + 0.0 * pull",
        (f"{TESTS}test_the_ceiling_conditions_on_all_other_ratings",),
    ),
    Fault(
        "evaluate: the worst constants",
        "evaluation/contest.py",
        "max(tried, key",
        "min(tried, key",
        (f"{TESTS}test_constants_are_those_that_do_best",),
    ),
    Fault(
        "evaluate: narrow intervals",
        "evaluation/intervals.py",
        "means[:, None] + wide * ends.T",
        "means[:, None] + ends.T",
        (f"{TESTS}test_intervals_are_as_wide_as_students_where_these_are_right",),
    ),
    Fault("evaluate: gains unpromised", "evaluation/account.py", "(choice.promising and ", "(", BEST),
    Fault("evaluate: no harder test", "evaluation/account.py", "1.0 - 2 * HARDER / len(gaps)", "0.95", BEST),
    Fault("evaluate: what is open is not said", "evaluation/verdict.py", "if high > OPEN else", "if False else", WORDS),
    Fault(
        "evaluate: best whatever the interval",
        "evaluation/account.py",
        "choice.promising and policies[candidate].vs_popularity.sign > 0",
        "choice.promising",
        BEST,
    ),
    Fault(
        "evaluate: who chose is judged by the same choice",
        "evaluation/development.py",
        "best = best_trial(trials, ~who)",
        "best = best_trial(trials, who)",
        (f"{TESTS}test_one_half_chooses_for_the_other",),
    ),
    Fault("evaluate: gains over chance", "evaluation/account.py", 'ends["popular"])', 'ends["random"])', SAYS),
    Fault(
        "evaluate: a model as it is, though it saw these people",
        "evaluation/source.py",
        "        if strangers:\n",
        "        if not strangers:\n",
        (f"{TESTS}test_a_model_that_saw_these_people_is_fitted_anew",),
    ),
]
