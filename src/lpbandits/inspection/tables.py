"""The pairs of actions that tell states apart, as tables for people."""

from lpbandits.inspection.contrasts import Contrasts, Pair
from lpbandits.inspection.questions import CANDIDATES
from lpbandits.text import display, pluralize

ASK = "Which of two do they prefer? The answers that tell states apart"
TRAITS = "What sets each state apart from the others"
TELLS, GUESSED, OWN, OTHERS = "tells", "state guessed", "its people", "others"
TRAIT_RULE = "The share of a state's people, and of all others, who are expected to prefer the first to the second."

SURE = 0.9
LISTED = 6
"""States that are named; more are counted."""


def percent(share: float | None) -> str:
    """Return a probability for people: only certainty itself is 100 %, or 0 %.

    >>> percent(0.7), percent(0.999), percent(0.001), percent(None)
    ('70%', '>99%', '<1%', '–')
    """
    if share is None:
        return "–"
    return ">99%" if 0.995 <= share < 1 else "<1%" if 0 < share < 0.005 else f"{share:.0%}"


def pair_table(contrasts: Contrasts) -> tuple[list[str], list[list[str]]]:
    """Return the pairs, and which states' people prefer which, as columns and rows of text."""
    certain = contrasts.at_their_word
    rows = [
        [
            display(pair.first),
            _who(pair, first=True, certain=certain),
            display(pair.second),
            _who(pair, first=False, certain=certain),
            f"{pair.tells:.2f} bits",
            percent(pair.guessed),
        ]
        for pair in contrasts.pairs
    ]
    return ["either", "preferred by", "or", "preferred by", TELLS, GUESSED], rows


def pair_rule(contrasts: Contrasts, *, actions: int, largest: float) -> str:
    """Return how to read the table of pairs."""
    text = (
        "Everybody rates on a scale of their own, so one action alone tells nothing. Each pair adds most to those "
        f"above it. Tells: bits by itself, of the {contrasts.bits:.2f} that there are to know. State guessed: how "
        f"often the likeliest state is right after this answer and those above ({percent(largest)} unasked). "
    )
    if contrasts.at_their_word:
        text += "Orderings are taken at their word here; real people will not always follow them."
    else:
        text += "In brackets: how many of a state's people are expected to say so."
    if any(_open(chance) for pair in contrasts.pairs for chance in pair.chance_first):
        text += f" ?: how the state orders the two is not sure ({SURE:.0%})."
    if actions > CANDIDATES:
        text += f" The pairs of the {CANDIDATES} most contested actions were looked at."
    return text


def trait_table(contrasts: Contrasts) -> tuple[list[str], list[list[str]]]:
    """Return what sets each state apart, as columns and rows of text."""
    rows = [
        [str(t.state), display(t.first), display(t.second), percent(t.says_first), percent(t.others_say_first)]
        for t in contrasts.traits
    ]
    return ["state", "prefers, more than others do,", "to", OWN, OTHERS], rows


def _who(pair: Pair, *, first: bool, certain: bool) -> str:
    """Return the states whose people mostly say one of the two, and how many of them do."""
    states, shares = [], []
    for z, (share, chance) in enumerate(zip(pair.says_first, pair.chance_first, strict=True)):
        if share is not None and (share >= 0.5) is first:
            states.append(f"{z}?" if _open(chance) else str(z))
            shares.append(share if first else 1.0 - share)
    if not states:
        return "no state"
    named = f"{'state' if len(states) == 1 else 'states'} {', '.join(states)}"
    if len(states) > LISTED:
        named = pluralize(len(states), "state")
    if certain:
        return named
    low, high = percent(min(shares)), percent(max(shares))
    return f"{named} ({low})" if low == high else f"{named} ({low.rstrip('%')} to {high})"


def _open(chance: float | None) -> bool:
    return chance is not None and 1.0 - SURE < chance < SURE
