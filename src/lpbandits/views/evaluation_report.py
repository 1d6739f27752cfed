"""Tables and the HTML report of an evaluation."""

from pathlib import Path

from lpbandits.evaluation.results import Evaluation, titled
from lpbandits.model import PreferenceModel
from lpbandits.simulation.results import versions
from lpbandits.text import display, pluralize
from lpbandits.views.charts.base import Chart, deferred_validation
from lpbandits.views.charts.evaluation import curve_chart, gain_chart, group_chart, people_chart
from lpbandits.views.folder import footer, save_report
from lpbandits.views.page import Section, Table
from lpbandits.views.tables import number

REMARKS = {
    "item-knn": "recommender, for reference",
    "ease": "recommender, for reference",
    "ceiling": "taste given all other ratings",
    "best-possible": "all ratings known",
}
HYPERPARAMETERS = {"item-knn": ("shrinkage", "damping"), "ease": ("ridge", "gain")}
GAIN = "gain over popularity [95 %]"


def score_table(evaluation: Evaluation) -> tuple[list[str], list[list[str]]]:
    """Return the scores as columns and rows of text, highest last score first."""
    checkpoints = [t for t in next(iter(evaluation.policies.values())).z if t <= evaluation.rounds]
    columns = ["policy", *(f"after {t}" for t in checkpoints), "± se", GAIN, ""]
    rows = []
    for name, score in sorted(evaluation.policies.items(), key=lambda item: -item[1].curve[-1]):
        means = [f"{score.z[t]:.3f}" for t in checkpoints]
        gain = "" if name == "popular" else f"{score.vs_popularity:+.3f}"
        remark = "← best" if name == evaluation.best else REMARKS.get(name, "")
        rows.append([titled(name), *means, number(score.se, 3), gain, remark])
    return columns, rows


def group_table(evaluation: Evaluation) -> tuple[list[str], list[list[str]]]:
    """Return the gains of groups of people as columns and rows of text."""
    rows = [[g.name, f"{g.people:,}", f"{g.gain:+.3f}", f"{g.worse:.0%}"] for g in evaluation.groups]
    return ["group", "people", GAIN, "worse off"], rows


def describe(evaluation: Evaluation) -> str:
    """Return the sizes of the three sets and the length of the replay in one line."""
    once = "each action once" if evaluation.once else "actions may repeat"
    several = "" if evaluation.splits == 1 else f"each of {evaluation.splits} splits: "
    rest = "" if evaluation.splits == 1 else "the rest of "
    return (
        f"{several}{pluralize(evaluation.fitted_people, 'person', 'people')} in the training set, "
        f"{evaluation.development_people:,} in the development set, {rest}{evaluation.people:,} replayed for up to "
        f"{pluralize(evaluation.rounds, 'round')}, {once}"
    )


def how_to_read(evaluation: Evaluation) -> str:
    """Explain the scores and who was replayed."""
    once = "each of them once" if evaluation.once else "with repetition"
    used = "These people were used neither for fitting nor for selection."
    if not evaluation.unseen:
        used = "These people were not used for selection, but may be in the model's training data."
    if evaluation.splits > 1:
        used = (
            f"A log of so few people is divided in {evaluation.splits} random splits, since the result of one depends "
            f"on chance; a score is the mean over the splits in which the person was replayed. In each split, "
            f"{used[0].lower()}{used[1:]}"
        )
    return (
        "Every policy was replayed on each of these people. In each round it chose among the actions that the person "
        f"rated, {once}, and observed the recorded rating. {used} A score is the mean rating of the chosen actions, "
        "standardized by the mean and the standard deviation of all ratings of the person: a random choice has an "
        "expected score of 0, and all people have the same weight. Intervals are 95 % intervals of the mean "
        "difference by person. The verdict's claims beside its main one are clear for all of them together."
    )


def loss_summary(evaluation: Evaluation) -> str:
    """Return the share of people, and the groups, that score lower with the candidate than with popularity."""
    who = evaluation.subject
    gap = evaluation.gaps
    losses, gain = gap[gap < 0], float(gap[gap > 0].mean()) if (gap > 0).any() else 0.0
    if not len(losses):
        return f"No person would have been better off with popularity than with {who}."
    text = (
        f"{(gap < 0).mean():.0%} of the people would have been better off with popularity than with {who}, by "
        f"{-losses.mean():.2f} on average; {(gap > 0).mean():.0%} are better off with {who}, by {gain:.2f}."
    )
    worse = [group.name for group in evaluation.groups[1:] if group.gain.sign < 0]
    text += f" Groups that lose: {', '.join(worse)}." if worse else " No group loses."
    return text + " (Groups are descriptive: with several, one may gain or lose by chance.)"


def sections(evaluation: Evaluation) -> list[Section]:
    """Return the sections of the report of an evaluation."""
    charts: dict[str, Chart] = {"gains": gain_chart(evaluation), "rounds": curve_chart(evaluation)}
    parts = [Section("Scores", [how_to_read(evaluation)], charts, [Table(*score_table(evaluation))])]
    if evaluation.candidate is not None:
        charts = {"groups": group_chart(evaluation), "people": people_chart(evaluation)}
        parts.append(Section("Gains and losses", [loss_summary(evaluation)], charts, [Table(*group_table(evaluation))]))
    parts.append(Section("Selection on the development set", selection(evaluation)))
    notes = [*evaluation.warnings]
    notes += [f"{titled(name)} was left out: {why}" for name, why in evaluation.left_out.items()]
    return [*parts, Section("Notes", notes)] if notes else parts


@deferred_validation
def save_evaluation(
    evaluation: Evaluation, folder: str | Path, *, source: str = "", model: PreferenceModel | None = None
) -> Path:
    """Write tables, charts (PNG and SVG), an HTML report and a model; return the report's path.

    `source` is the name of the log.
    """
    about = f"{display(source)}: {describe(evaluation)}" if source else describe(evaluation)
    return save_report(
        folder,
        title="Do policies beat popularity?",
        lead=evaluation.verdict,
        sections=sections(evaluation),
        foot=f"{about}. {footer(sum(evaluation.seconds.values()))}",
        tables={"people": evaluation.table},
        manifest={"format": "lpbandits-evaluation", "version": 1, **evaluation.to_dict(), "versions": versions()},
        model=model,
    )


def selection(evaluation: Evaluation) -> list[str]:
    """Return the settings that were selected on the development set, in sentences."""
    chosen = evaluation.chosen
    development = pluralize(evaluation.development_people, "person", "people")
    replayed = f"the report set of {pluralize(evaluation.people, 'person', 'people')} was replayed once."
    if evaluation.splits > 1:
        replayed = (
            f"the rest was replayed. This was done for {evaluation.splits} random splits of the people; the settings "
            "and scores below are those of one of them, with the most frequent settings."
        )
    if evaluation.fit_config is None:
        lines = [f"The policy was selected on {development}. The model was used unchanged, and {replayed}"]
    else:
        lines = [
            f"All settings were selected on {development} who were not in the first fit. The model was then fitted "
            f"again with these people, and {replayed}"
        ]
    settings = chosen["settings"]
    if settings is not None:
        scale = f" on the {settings['scale']} scale" if "scale" in settings else ""
        tried = pluralize(len(chosen["trials"]), "setting")
        auto = " (auto)" if settings["states"] == "auto" else ""
        lines.append(f"States: {chosen['states']}{auto}, by {settings['method']}{scale} ({tried} tried).")
    for name, values in chosen["constants"].items():
        named = zip(HYPERPARAMETERS[name], values, strict=True)
        lines.append(f"{titled(name)}: {' and '.join(f'{which} {value:g}' for which, value in named)}.")
    if evaluation.candidate is not None:
        scores = sorted(chosen["scores"].items(), key=lambda item: -item[1])
        ranked = ", ".join(f"{titled(name)} {score:.3f}" for name, score in scores)
        counts = ", ".join(f"{titled(name)} in {count}" for name, count in evaluation.selected.items())
        policy = titled(evaluation.candidate) if evaluation.splits == 1 else f"{counts} of {evaluation.splits} splits"
        lines.append(f"Policy: {policy}. Scores on the development set: {ranked}.")
    return lines
