"""Gain of `taste` on MovieLens, as in docs/taste.md: `python -m benchmarks.taste MOVIELENS_FOLDER`.

Fits a model to half of the people, replays 600 others (or all the others) for 20 rounds without repeats, and compares
with popularity and with two recommenders, item kNN and EASE, on the residuals of ratings.
"""

import argparse
import time
from collections.abc import Callable

import numpy as np

import lpbandits as lpb
from lpbandits.data import Ratings
from lpbandits.fit import TwoStage, fit_states
from lpbandits.fit.taste.moments import moments
from lpbandits.fit.taste.popularity import informative
from lpbandits.typing import FloatArray, IntArray
from lpbandits.worlds.replay import replay_population

ROUNDS = 20


def people_of(log: Ratings, model: lpb.PreferenceModel) -> lpb.worlds.Population:
    world = lpb.ReplayWorld(model, log, least=2 * ROUNDS)
    return replay_population(model, world.recorded, world.rewards)


def standardised(rewards: FloatArray, given: FloatArray) -> FloatArray:
    out: FloatArray = (rewards - np.nanmean(given, axis=1)[:, None]) / np.nanstd(given, axis=1)[:, None]
    return out


def played_by(score: Callable[[list[int], FloatArray], FloatArray], given: FloatArray) -> FloatArray:
    """Return the rewards of a greedy player; `score` maps the played actions and their rewards to scores."""
    out = np.empty((len(given), ROUNDS))
    for p, row in enumerate(given):
        allowed = ~np.isnan(row)
        actions_played: list[int] = []
        for t in range(ROUNDS):
            values = np.where(allowed, score(actions_played, row[actions_played]), -np.inf)
            actions_played.append(int(np.argmax(values)))
            allowed[actions_played[-1]] = False
            out[p, t] = row[actions_played[-1]]
    return out


def references(log: Ratings) -> dict[str, Callable[[list[int], FloatArray], FloatArray]]:
    """Return item kNN and EASE, with constants selected on a development set."""
    seen = moments(log, people=informative(log))
    norms = np.sqrt(np.diag(seen.products))
    near = seen.products / np.maximum(np.outer(norms, norms), 1e-9) * (seen.raters / (seen.raters + 100))
    np.fill_diagonal(near, 0.0)
    inverse = np.linalg.inv(seen.products + 300 * np.eye(len(norms)))
    weights = -inverse / np.diag(inverse)
    np.fill_diagonal(weights, 0.0)

    def left(actions_played: list[int], rewards: FloatArray) -> FloatArray:
        away = (rewards - seen.level) / np.exp(seen.log_scale) - seen.means[actions_played]
        return np.asarray(away - away.sum() / (len(away) + 3))

    def knn(actions_played: list[int], rewards: FloatArray) -> FloatArray:
        close = near[:, actions_played]
        return np.asarray(seen.means + close @ left(actions_played, rewards) / (np.abs(close).sum(axis=1) + 0.3))

    def ease(actions_played: list[int], rewards: FloatArray) -> FloatArray:
        return np.asarray(seen.means + 2.0 * left(actions_played, rewards) @ weights[actions_played])

    return {"item kNN": knn, "EASE": ease}


def covered(policy: lpb.Policy, people: lpb.worlds.Population, plays: IntArray) -> float:
    """Return the share of all remaining rewards within their 80 % intervals, after the rounds played."""
    shares = []
    for p, actions in enumerate(plays.tolist()):
        agent = lpb.Agent(policy, seed=0)
        for a in actions:
            agent.tell(policy.model.actions[a], float(people.means[p, a]))
        half = 1.2815515655 * policy.predictive_sd(agent.belief)
        inside = np.abs(people.means[p] - policy.expected(agent.belief)[0]) <= half
        rest = np.setdiff1d(np.flatnonzero(~np.isnan(people.means[p])), actions)
        shares.append(inside[rest].mean())
    return float(np.mean(shares))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder")
    parser.add_argument("--min-person", type=int, default=200)
    parser.add_argument("--min-action", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    log = lpb.read_ratings(given.folder, min_person=given.min_person, min_action=given.min_action)
    order = np.random.default_rng(given.seed).permutation(len(log.people))
    fitted, others = log.subset(np.sort(order[: len(order) // 2])), log.subset(np.sort(order[len(order) // 2 :][:600]))
    fit = fit_states(fitted, TwoStage(scale="cosine", seed=given.seed), states=5)
    print({name: value for name, value in (fit.report.taste or {}).items() if name != "curve"})
    popular = lpb.fit_states(fitted, lpb.TwoStage(seed=given.seed), states=1, heldout=0, taste=False).model
    one_state = popular.replace(popular=None)  # its ordering, as docs/taste.md has it
    policies = {"taste": lpb.Taste(fit.model), "popularity": lpb.Popular(one_state), "lpbts": lpb.LpbTS(fit.model)}
    rewards, plays, people = {}, {}, people_of(others, fit.model)
    for name, policy in policies.items():
        lpb.simulation.rollout(policy, people.cut(slice(1)), rounds=1, seed=0)
        start = time.process_time()
        trace = lpb.simulation.rollout(policy, people, rounds=ROUNDS, seed=given.seed)
        rewards[name], plays[name] = trace.rewards, trace.actions.astype(np.int64)
        print(f"{name}: {1e6 * (time.process_time() - start) / trace.rewards.size:.2f} µs a round")
    rewards |= {name: played_by(score, people.means) for name, score in references(fitted).items()}
    scores = {name: standardised(value, people.means) for name, value in rewards.items()}
    for name, z in scores.items():
        gap = scores["taste"].mean(axis=1) - z.mean(axis=1)
        means = " / ".join(f"{z[:, :t].mean():.3f}" for t in (5, 10, 20))
        print(f"{name:10s} {means}   taste − it {gap.mean():+.3f} ± {gap.std() / np.sqrt(len(gap)):.3f}")
    print(f"80 % intervals after {ROUNDS} rounds: {covered(policies['taste'], people, plays['taste']):.3f}")


if __name__ == "__main__":
    main()
