"""Models from orderings that experts give, instead of a log."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal

import numpy as np

from lpbandits import validate
from lpbandits.data.sources import RatingsSource
from lpbandits.errors import InvalidInput, translate_errors
from lpbandits.fit.expert_tables import Expert, read_table, split_ordering
from lpbandits.model import PreferenceModel
from lpbandits.text import LINE, pluralize
from lpbandits.typing import Json, Label

MAX_EXPERTS = 10_000
"""Maximum number of experts; more are probably the people of a log."""

MAX_NAMES = 5
"""Maximum number of experts that the name of a state lists."""


@translate_errors("making a model from experts")
def model_from_experts(
    source: RatingsSource | Mapping[str, Any],
    *,
    shares: Mapping[str, float] | None = None,
    unranked: Literal["error", "last"] = "error",
) -> PreferenceModel:
    """Return a model with a state for each distinct ordering that experts give.

    Experts who agree are one state, with the names of all of them and the sum of their shares.

    Parameters
    ----------
    source
        Orderings by the expert's name: texts such as "A > B = C > D", or lists in which a nested list is a tier. Or a
        table of them: a path (CSV, TSV, Excel or Parquet) or a frame; docs/files.md describes its columns.
    shares
        The share of each expert, if `source` holds orderings by name; by default all are equal. Shares are divided by
        their sum.
    unranked
        Actions that other experts rank and this one does not: "error", or "last" for one tier after all others.

    Examples
    --------
    >>> model = model_from_experts({"Dr. A": "rest > drug = diet", "Dr. B": "diet > rest > drug", "Dr. C": [
    ...     "rest", ["diet", "drug"]]})
    >>> model.state_names, model.prior.round(2).tolist()
    (('Dr. A, Dr. C', 'Dr. B'), [0.67, 0.33])
    >>> model.actions, model.tiers
    (('rest', 'drug', 'diet'), ((1, 2), (1, 1, 1)))
    """
    validate.as_choice(unranked, "unranked", ("error", "last"))
    if isinstance(source, Mapping):
        place, layout, experts = "source", "mapping", _named(source, shares)
    else:
        if shares is not None:
            raise validate.invalid("shares", "left out for a table, which has a column for them", shares)
        place, layout, experts = read_table(source)
    if not experts:
        raise InvalidInput(f"{place} has no experts; give at least one ordering")
    if len(experts) > MAX_EXPERTS:
        raise InvalidInput(
            f"{place} has {len(experts):,} experts; the limit is {MAX_EXPERTS:,}: fit states to the log of many people "
            "(lpb fit)"
        )
    experts = _with_integers(experts)
    added = _unranked(experts)
    _check(experts, {} if unranked == "last" else added, place)
    actions = _actions(experts)
    complete = [replace(one, tiers=(*one.tiers, added[i])) if i in added else one for i, one in enumerate(experts)]
    given = sum(one.share for one in experts if one.share is not None)
    provenance: Json = {
        "made_by": "experts",
        "experts": len(experts),
        "layout": layout,
        "sum_of_shares": given if experts[0].share is not None else None,
        "unranked": {experts[i].title: list(labels) for i, labels in added.items()},
    }
    return _merged(complete, actions, provenance)


def _named(orderings: Mapping[str, Any], shares: Any) -> list[Expert]:
    """Return the experts of orderings by name."""
    if shares is not None and (not isinstance(shares, Mapping) or set(shares) != set(orderings)):
        raise validate.invalid("shares", "a number for each name of source", shares)
    experts = []
    for name, ordering in orderings.items():
        title = f"source[{validate.short_repr(name)}]"
        tiers: Sequence[Sequence[Label]]
        problems: Sequence[str] = ()
        if isinstance(ordering, str):
            tiers, problems = split_ordering(ordering)
        else:
            groups = validate.as_list(ordering, title, "actions and tiers")
            tiers = [list(part) if isinstance(part, list | tuple) else [part] for part in groups]
        plain = tuple(tuple(validate.as_label(label, title) for label in tier) for tier in tiers)
        share = None if shares is None else validate.as_number(shares[name], f"shares[{name!r}]", low=0)
        experts.append(
            Expert(title, validate.as_text(name, "a name of source"), share, plain, problems, isinstance(ordering, str))
        )
    return experts


def _with_integers(experts: Sequence[Expert]) -> list[Expert]:
    """Return the experts with labels as integers if all that were read from text are whole numbers."""
    read = {label for one in experts if one.parsed for tier in one.tiers for label in tier}
    if not read or not all(isinstance(label, str) and re.fullmatch(r"0|-?[1-9][0-9]{0,17}", label) for label in read):
        return list(experts)
    return [
        replace(one, tiers=tuple(tuple(map(int, tier)) for tier in one.tiers)) if one.parsed else one for one in experts
    ]


def _actions(experts: Sequence[Expert]) -> tuple[Label, ...]:
    """Return all actions, in the order in which they first occur."""
    return tuple(dict.fromkeys(label for one in experts for tier in one.tiers for label in tier))


def _unranked(experts: Sequence[Expert]) -> dict[int, tuple[Label, ...]]:
    """Return the actions that an expert does not rank, by the expert's index."""
    actions = _actions(experts)
    ranked = [{label for tier in one.tiers for label in tier} for one in experts]
    missing = {i: tuple(a for a in actions if a not in has) for i, has in enumerate(ranked)}
    return {i: labels for i, labels in missing.items() if labels}


def _check(experts: Sequence[Expert], missing: Mapping[int, tuple[Label, ...]], place: str) -> None:
    """Raise one error with all problems."""
    problems: list[str] = []
    first_with: dict[str, Expert] = {}
    typos = _typos(experts, missing)
    for i, one in enumerate(experts):
        problems += [f"{one.place}: {problem}" for problem in one.problems]
        if one.name is not None and (twin := first_with.setdefault(one.name, one)) is not one:
            problems.append(f"{one.place}: {one.name!r} has an ordering already, in {twin.place}")
        counts = Counter(label for tier in one.tiers for label in tier)
        problems += [f"{one.place}: {label!r} is ranked twice" for label, count in counts.items() if count > 1]
        problems += [f"{one.place}: only {one.title} ranks {label!r}{near}" for label, near in typos.get(i, {}).items()]
        foreign = {label for j, labels in typos.items() if j != i for label in labels}
        lacking = [label for label in missing.get(i, ()) if label not in foreign]
        if lacking and one.tiers and i not in typos:
            problems.append(f"{one.place}: {one.title} does not rank {_listed(lacking)}")
    problems += _mixed_shares(experts)
    if experts[0].share is not None and not sum(one.share or 0.0 for one in experts) and not problems:
        problems.append("all shares are 0; at least one must be positive")
    if not problems:
        return
    remedy = ""
    if missing:
        remedy = "; unranked='last' (--unranked last) puts actions that an expert does not rank in one last tier"
    raise InvalidInput(f"{place} has {pluralize(len(problems), 'problem')}: {_joined(problems, remedy)}{remedy}")


def _mixed_shares(experts: Sequence[Expert]) -> list[str]:
    """Return the problem of shares of which some have a % and others none: 0.3 may be 30 % or 0.3 %."""
    percent: dict[bool, Expert] = {}
    for one in experts:
        if one.share_text:
            percent.setdefault(one.share_text.endswith("%"), one)
    if len(percent) < 2:
        return []
    bare, marked = percent[False], percent[True]
    return [
        f"{bare.place}: share {bare.share_text!r} has no %, but {marked.share_text!r} ({marked.place}) has; write all "
        "shares with %, or none"
    ]


def _typos(experts: Sequence[Expert], missing: Mapping[int, tuple[Label, ...]]) -> dict[int, dict[Label, str]]:
    """Return, by expert, the actions that only this expert ranks and that resemble one that the expert lacks."""
    raters = Counter(label for one in experts for label in {a for tier in one.tiers for a in tier})
    typos: dict[int, dict[Label, str]] = {}
    for i, labels in missing.items():
        for label in (a for tier in experts[i].tiers for a in tier if raters[a] == 1):
            if near := validate.did_you_mean(label, labels):
                typos.setdefault(i, {})[label] = near
    return typos


def _listed(labels: Sequence[Label]) -> str:
    words = [repr(label) for label in labels[:MAX_NAMES]]
    return ", ".join(words) + (f" and {len(labels) - MAX_NAMES} more" if len(labels) > MAX_NAMES else "")


def _joined(problems: Sequence[str], remedy: str) -> str:
    """Return as many problems as fit on the line of an error."""
    shown: list[str] = []
    room = LINE - len(remedy) - 150
    for problem in problems:
        if shown and room < len(problem):
            return "; ".join(shown) + f"; and {len(problems) - len(shown)} more"
        shown.append(problem)
        room -= len(problem) + 2
    return "; ".join(shown)


def _merged(experts: Sequence[Expert], actions: tuple[Label, ...], provenance: Json) -> PreferenceModel:
    """Return the model: experts with equal tiers are one state."""
    index = {label: i for i, label in enumerate(actions)}
    groups: dict[tuple[frozenset[int], ...], list[Expert]] = {}
    for one in experts:
        key = tuple(frozenset(index[label] for label in tier) for tier in one.tiers)
        groups.setdefault(key, []).append(one)
    weights = np.array([sum(1.0 if one.share is None else one.share for one in same) for same in groups.values()])
    names = [_names([one.name for one in same if one.name is not None]) for same in groups.values()]
    rows = [[a for tier in tiers for a in sorted(tier)] for tiers in groups]
    return PreferenceModel(
        np.array(rows),
        tiers=[[len(tier) for tier in tiers] for tiers in groups],
        actions=actions,
        prior=weights / weights.sum(),
        state_names=names if all(names) else None,
        provenance=provenance,
    )


def _names(names: Sequence[str]) -> str:
    """Return the name of a state: those of its experts.

    >>> _names(["Dr. A", "Dr. B"]), _names(list("ABCDEFG"))
    ('Dr. A, Dr. B', 'A, B, C, D, E and 2 more')
    """
    return ", ".join(names[:MAX_NAMES]) + (f" and {len(names) - MAX_NAMES} more" if len(names) > MAX_NAMES else "")
