"""Does it help these people? Fit some, let others decide every choice, replay the rest once, and give a verdict."""

import operator
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any, Literal

import numpy as np

from lpbandits import validate
from lpbandits.data.ratings import Ratings, as_ratings
from lpbandits.errors import InvalidInput, translate_errors
from lpbandits.evaluation.baselines import REFERENCES
from lpbandits.evaluation.bootstrap import differences
from lpbandits.evaluation.contestants import BOUNDS, DEFAULT, YARDSTICKS, Contest, Known, kind_of, known_of
from lpbandits.evaluation.fit_config import Settings, candidates
from lpbandits.evaluation.replay import LEAST, Replay
from lpbandits.evaluation.results import Evaluation
from lpbandits.evaluation.source import Source
from lpbandits.evaluation.split import split
from lpbandits.evaluation.summary import accounts, best_of, gains_over, groups_of, table_of
from lpbandits.evaluation.tuning import Choice, develop, timed
from lpbandits.evaluation.verdict import sentence
from lpbandits.fit.assign import states_of
from lpbandits.model import PreferenceModel
from lpbandits.parallel import Workers, executor_for, resolve_threads
from lpbandits.policies import POLICIES
from lpbandits.policies.registry import load_outside
from lpbandits.progress import Progress, Stopwatch
from lpbandits.typing import IntArray


@translate_errors("evaluating policies")
def evaluate(
    ratings: Ratings,
    *,
    model: PreferenceModel | None = None,
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
    """Say whether policies would have helped people of a log more than what is popular.

    Half of the people are fitted; some (development people) decide what is chosen; the others (report people) are then
    replayed once. A person gets only actions that they really rated, each once, and the reward is their rating; scores
    are in units of the person's own ratings, (rating − mean) / sd, so that everybody counts alike.

    Parameters
    ----------
    model
        A model whose settings are to be used; or, if none of these people were in its fit, the model itself. By
        default the number of states and the scale of clustering are chosen by development people.
    states, scale
        Fix either of these instead.
    policies
        Registered policies, "random", "popular", "item-knn", "ease", "ceiling", "best-possible"; by default those and
        the main policies. Popularity is always there.
    rounds
        Rounds per person, at most half of what they rated.
    people
        Replay at most so many report people; 2,000 by default.
    repeats
        Let actions be played again, with the same reward.
    jobs
        Processes to use, or `Workers(…)` for those of a cluster; by default this one, on its threads.
    threads
        Threads of a process; by default as many as there are cores for it. Neither changes a result.

    >>> rng = np.random.default_rng(0)
    >>> n, a = np.divmod(np.arange(120 * 12), 12)
    >>> log = Ratings.from_arrays(n, a, np.where(n % 2, a, 11 - a) + rng.normal(0, 2, len(n)))
    >>> found = evaluate(log, policies=["lpb-utility", "taste"], states=2)
    >>> found.policies["taste"].vs_popularity.low > 0.5, found.people
    (True, 42)
    """
    watch = Stopwatch(progress)
    names = names_of(policies)
    once = not validate.as_flag(repeats, "repeats")
    rounds, seed = validate.as_count(rounds, "rounds", high=10_000), validate.as_seed(seed)
    if model is not None and (states != "auto" or scale is not None):
        raise InvalidInput("states and scale are those of the model; give a model, or say how to fit one, not both")
    source = Source.of(model, as_ratings(ratings))
    log = source.log
    most = None if people is None else validate.as_count(people, "people")
    parts = split(log, least=LEAST[once], seed=seed, people=most)
    first = log.subset(parts.fitted)
    if not once:
        names = [name for name in names if name != "ceiling"]  # whoever may repeat an action learns its own reward, too
    with executor_for(jobs, threads=threads) as executor:
        contest = Contest(names, seed, executor, resolve_threads(threads))
        choice = develop(
            contest,
            source.model or ways(source, len(parts.fitted), states, scale, seed),
            first,
            Replay.of(log, parts.development, rounds=rounds, once=once),
            watch,
        )
        contest = contest.without(list(choice.left_out))
        with watch.part("fit all others"):
            known = all_known(choice, log.subset(parts.known), contest)
        replay = Replay.of(log, parts.report, rounds=rounds, once=once)
        scores = contest.scores(contest.names, known, replay, partial(replayed, watch))
    played = accounts(scores, rounds=rounds, seed=seed)
    candidate = choice.candidate
    best = best_of(choice, played)
    shown = candidate if best == "popular" else best
    against = {} if shown is None else gains_over(shown, played, seed=seed)
    grouped_by = known.model if model is None else model  # whose states the user knows by their numbers
    own_states = likeliest_states(grouped_by, log.subset(replay.person), contest.threads)
    gap = differences(played[shown or "popular"].people, played["popular"].people)
    return Evaluation(
        verdict=sentence(
            best,
            candidate,
            played,
            against,
            unseen=source.unseen,
            people=len(replay),
            log_people=len(log.people),
            rounds=replay.most,
        ),
        best=best,
        candidate=shown,
        people=len(replay),
        log_people=len(log.people),
        fitted_people=len(parts.fitted),
        development_people=len(parts.development),
        rounds=replay.most,
        once=once,
        policies=played,
        against=against,
        groups=groups_of(gap, log.counts[replay.person], own_states, grouped_by, seed=seed),
        chosen=choice.to_dict(),
        left_out=choice.left_out,
        warnings=source.notes,
        table=table_of(log, replay, own_states, played),
        seconds={stage: round(time, 3) for stage, time in watch.seconds.items()},
        way=choice.way if isinstance(choice.way, Settings) else None,
    )


def names_of(policies: Sequence[str] | None) -> list[str]:
    """Return the contestants' names, popularity among them.

    >>> names_of(["taste", "uniform"])
    ['popular', 'taste', 'random']
    """
    if policies is None:
        return list(DEFAULT)
    load_outside()
    mine = [name for name, entry in POLICIES.items() if entry.feedback == "rewards" and name != "uniform"]
    known = list(dict.fromkeys((*mine, *YARDSTICKS, *REFERENCES, *BOUNDS)))
    out = ["popular"]
    for given in validate.as_list(policies, "policies", "names", max_length=1000):
        name = "random" if validate.is_exactly(given, "uniform") else given
        if isinstance(name, str) and name in POLICIES:
            kind_of(name)  # of duels there are none in a log
        name = validate.as_choice(name, "policy", known)
        if name not in out:
            out.append(name)
    return out


def ways(source: Source, people: int, states: int | str, scale: str | None, seed: int) -> list[Settings]:
    """Return the ways of fitting that development people choose from."""
    if source.settings is not None:
        return [source.settings]
    if isinstance(states, str) and states != "auto":
        raise InvalidInput(f"states is {validate.short_repr(states)}; give a number, or 'auto'")
    number = None if isinstance(states, str) else validate.as_count(states, "states")
    if number is not None and number > people:
        raise InvalidInput(f"states is {number:,}, but only {people:,} people are fitted; ask for fewer states")
    return candidates(people, states=number, scale=scale, seed=seed)


def all_known(choice: Choice, log: Ratings, contest: Contest) -> Known:
    """Fit everybody but the report people, as was chosen."""
    model = choice.way
    if isinstance(model, Settings):
        way, threads = model, contest.executor.threads
        jobs: list[tuple[Any, ...]] = [(way.model_of, log, threads)]
        if contest.tastes:
            jobs.append((way.tasted, log, choice.taste, threads))
        model, *tasted = contest.executor.map(operator.call, jobs)
        if tasted:
            model = model.replace(taste=tasted[0].taste)
    return known_of(model, log, choice.constants)


def replayed(watch: Stopwatch, results: Iterator[Any], count: int) -> Iterator[Any]:
    """Tell of replays as they end."""
    return timed(watch, "replay", 0, count, results, count)


def likeliest_states(model: PreferenceModel, log: Ratings, threads: int) -> IntArray:
    """Return the state of each person that all their ratings speak for; 0 where the model has no utilities to tell."""
    if model.utilities is None:
        return np.zeros(len(log.people), dtype=np.int64)
    return states_of(model, log, threads=threads)["state"].to_numpy().astype(np.int64)


@translate_errors("fitting as was chosen")
def fit_as_chosen(
    ratings: Ratings, found: Evaluation, *, threads: int | None = None, jobs: int | Workers | None = None
) -> PreferenceModel:
    """Fit everybody in the way that an evaluation chose; the model knows the verdict.

    >>> n, a = np.divmod(np.arange(60 * 8), 8)
    >>> log = Ratings.from_arrays(n, a, np.where(n % 2, a, 7 - a) + 0.1 * ((7 * n + 3 * a) % 5))
    >>> found = evaluate(log, policies=["taste"], states=2)
    >>> fit_as_chosen(log, found).evaluation["best"]
    'taste'
    """
    if not isinstance(found, Evaluation):
        raise InvalidInput(f"found is {validate.short_repr(found)}; give what evaluate(…) returned")
    if found.way is None:
        raise InvalidInput("the evaluation was of a model as it is, so nothing was chosen; keep that model")
    made = found.way.fitted(as_ratings(ratings), taste=True, threads=threads, jobs=jobs)
    return made.model.replace(evaluation=found.note())
