"""`evaluate`: compare policies with popularity on held-out people of a log."""

from collections.abc import Sequence
from typing import Literal

import numpy as np

from lpbandits import validate
from lpbandits.data.ratings import Ratings, as_ratings
from lpbandits.errors import InvalidInput, translate_errors
from lpbandits.evaluation.baselines import REFERENCES
from lpbandits.evaluation.contestants import BOUNDS, DEFAULT, YARDSTICKS, Contest
from lpbandits.evaluation.fit_config import FitConfig, ModelSource, settings_to_try
from lpbandits.evaluation.independence import repeated_people
from lpbandits.evaluation.replay import MIN_RATINGS_ONCE, Replay
from lpbandits.evaluation.results import Evaluation, Gain
from lpbandits.evaluation.splits import Combined, Result, Split, splits
from lpbandits.evaluation.summary import differences, gains_over, groups_of, person_table, summarize
from lpbandits.evaluation.tuning import develop
from lpbandits.evaluation.verdict import Claims, Subject, people_of, sentence
from lpbandits.fit.assign import states_of
from lpbandits.fit.taste.popularity import MIN_RATINGS
from lpbandits.model import PreferenceModel
from lpbandits.parallel import Workers, executor_for
from lpbandits.policies import POLICIES
from lpbandits.policies.registry import load_outside
from lpbandits.progress import Progress, Stopwatch


@translate_errors("evaluating policies")
def evaluate(
    ratings: Ratings,
    *,
    model: PreferenceModel | None = None,
    new_people: bool = False,
    states: int | Literal["auto"] = "auto",
    scale: str | None = None,
    policies: Sequence[str] | None = None,
    rounds: int = 20,
    people: int | None = None,
    repeats: bool = False,
    seed: int = 0,
    jobs: int | Workers | None = None,
    threads: int | None = None,
    progress: Progress | None = None,
) -> Evaluation:
    """Compare policies with popularity on held-out people of a log.

    At least 12 people must have four or more ratings (three with `repeats`) that are not all equal; people whose
    ratings vary by less than 5 % of the median standard deviation do not count. These people are split at random:
    35 %, at most `people`, are the report set, and 20 %, at most 500, the development set. All other people of the log
    are the training set. If the report set would have fewer than 100 people, this is done six times (see `splits`).

    All settings are selected on the development set, with models of the training set. A model of both sets is then
    fitted with the selected settings, and the report set is replayed once: a person is offered only the actions they
    rated, each once unless `repeats`, and the reward is the recorded rating. Scores are standardized by person,
    (rating − mean) / sd, so that all people have the same weight.

    Parameters
    ----------
    ratings
        The log.
    model
        A model to evaluate. With `new_people`, or if it does not record its settings, it is used unchanged; otherwise
        it is refitted with the same settings, without the held-out people. Without a model the number of states and the
        fitting method, a mixture or clusters, are selected on the development set.
    new_people
        Use `model` unchanged: none of these people are in its training data. A model does not record its people, so
        this cannot be checked.
    states
        Fix the number of states.
    scale
        Try only the two-stage method, with this clustering scale.
    policies
        Names of registered policies, "random", "popular", "item-knn", "ease", "ceiling" or "best-possible"; by default
        these six and "ts-top", "lpbts", "lpb-utility", "lpb-ids" and "taste". "popular" is always included.
    rounds
        Rounds per person, limited to half of the actions they rated (without `repeats`).
    people
        Maximum size of the report set, 2,000 by default; if given, the log is divided once, however small it is.
    repeats
        Allow an action to be played again, with the same reward.
    seed
        Random seed.
    jobs
        Number of worker processes, or `Workers(…)` of a cluster; by default this process only.
    threads
        Threads per process, by default the available cores. Results depend neither on them nor on `jobs`.
    progress
        Called with (stage, done, total).

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> n, a = np.divmod(np.arange(120 * 12), 12)
    >>> log = Ratings.from_arrays(n, a, np.where(n % 2, a, 11 - a) + rng.normal(0, 2, len(n)))
    >>> evaluation = evaluate(log, policies=["lpb-utility", "taste"], states=2)
    >>> evaluation.policies["taste"].vs_popularity.low > 0.5, evaluation.people
    (True, 120)
    """
    watch = Stopwatch(progress)
    names = contestant_names(policies)
    validate.check_progress(progress)
    once = not validate.as_flag(repeats, "repeats")
    rounds, seed = validate.as_count(rounds, "rounds", high=10_000), validate.as_seed(seed)
    if model is not None and (states != "auto" or scale is not None):
        raise InvalidInput("states and scale cannot be combined with model, which determines both; leave them out")
    source = ModelSource.of(model, as_ratings(ratings), new_people=validate.as_flag(new_people, "new_people"))
    log = source.log
    max_people = None if people is None else validate.as_count(people, "people")
    parts = splits(log, least=MIN_RATINGS_ONCE if once else MIN_RATINGS, seed=seed, people=max_people)
    results: list[Result] = []
    with executor_for(jobs, threads=threads) as executor:
        contest = Contest(names, seed, executor)
        left_out: dict[str, str] = {}
        if not once and "ceiling" in names:
            left_out["ceiling"] = "with repeats, the reward of a repeated action is already known"
        for part in parts:
            replays = [Replay.of(log, people, rounds=rounds, once=once) for people in (part.development, part.report)]
            result = replay_split(
                contest.without(left_out), source, part, replays, states=states, scale=scale, watch=watch
            )
            left_out |= result.choice.left_out
            results.append(result)
    combined = Combined.of(results, contest.without(left_out))
    typical = next(result for result in results if result.choice is combined.choice)
    widen = combined.widen
    scores = summarize(combined.scores, rounds=rounds, widen=widen)
    subject = Subject.of(combined, scores)
    gaps = differences(subject.people, scores["popular"].people)
    against = {} if subject.name is None else gains_over(subject.people, subject.name, scores, widen=widen)
    if model is not None:
        grouped_by = model  # the user's numbering of states
    elif len(parts) == 1 or combined.choice.fit_config is None:
        grouped_by = results[0].known.model
    else:
        with watch.part("fit all people"):
            grouped_by = combined.choice.fit_config.fit(log, threads)
    person_states = np.zeros(len(combined), dtype=np.int64)
    if grouped_by.utilities is not None:
        assigned = states_of(grouped_by, log.subset(combined.person), threads=threads)
        person_states = assigned["state"].to_numpy().astype(np.int64)
    return Evaluation(
        verdict=sentence(
            subject.best,
            subject.words(combined),
            Gain.of(gaps, widen=widen),
            Claims.of(subject.name or "", subject.people, scores, widen=widen),
            scores,
            against,
            where=people_of(len(combined), len(log.people), unseen=source.unseen, splits=len(parts)),
            rounds=int(combined.rounds.max()),
        ),
        best=subject.best,
        candidate=subject.name,
        subject=subject.label,
        selected=combined.candidates,
        people=len(combined),
        log_people=len(log.people),
        splits=len(parts),
        fitted_people=len(parts[0].fitted),
        development_people=len(parts[0].development),
        rounds=int(combined.rounds.max()),
        once=once,
        policies=scores,
        against=against,
        gaps=gaps,
        groups=groups_of(gaps, log.counts[combined.person], person_states, grouped_by, widen=widen),
        chosen=combined.choice.to_dict() | {"states": typical.known.model.n_states},
        left_out=left_out,
        warnings=[*source.notes, *repeated_people(log)],
        table=person_table(log, combined, person_states, scores),
        seconds={stage: round(time, 3) for stage, time in watch.seconds.items()},
        fit_config=combined.choice.fit_config,
        unseen=source.unseen,
    )


def replay_split(
    contest: Contest,
    source: ModelSource,
    parts: Split,
    replays: Sequence[Replay],
    *,
    states: int | str,
    scale: str | None,
    watch: Stopwatch,
) -> Result:
    """Select all settings on the development set, fit a model to all but the report set, and replay the report set.

    `replays` are those of the development and the report set.
    """
    log = source.log
    configs = settings_to_try(len(parts.fitted), states=states, scale=scale, seed=contest.seed)
    choice = develop(
        contest,
        [source.source] if isinstance(source.source, FitConfig) else source.source or configs,
        log.subset(parts.fitted),
        replays[0],
        watch,
    )
    contest = contest.without(choice.left_out)
    with watch.part("fit training people"):
        known = choice.knowledge(log.subset(parts.known), contest)
    return Result(choice, known, replays[1], contest.scores(contest.names, known, replays[1], watch))


def contestant_names(policies: Sequence[str] | None) -> list[str]:
    """Return the names of the contestants, including popularity.

    >>> contestant_names(["taste", "uniform"])
    ['popular', 'taste', 'random']
    """
    if policies is None:
        return list(DEFAULT)
    load_outside()
    registered = [name for name, entry in POLICIES.items() if entry.feedback == "rewards"]
    known = dict.fromkeys((*registered, *YARDSTICKS, *REFERENCES, *BOUNDS))
    names = [validate.as_choice(value, "policy", known) for value in validate.as_list(policies, "policies", "names")]
    return list(dict.fromkeys(["popular", *("random" if name == "uniform" else name for name in names)]))
