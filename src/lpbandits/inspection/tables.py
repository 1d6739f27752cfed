"""Tables of informative pairs and distinctive preferences."""

from lpbandits.inspection.contrasts import Contrasts
from lpbandits.inspection.questions import CANDIDATES, Pair
from lpbandits.text import display, pluralize

ASK = "Most informative questions: which of two does a person prefer?"
TRAITS = "Most distinctive preference of each state"
TELLS, GUESSED, MEMBERS, OTHERS = "information", "state identified", "its people", "others"
TRAIT_RULE = "Expected share of the state's people, and of all others, who prefer the first to the second."

SURE = 0.9
LISTED = 6
"""Maximum number of states listed; more are counted."""


def percent(share: float | None) -> str:
    """Format a probability; only exact certainty is 100 % or 0 %.

    >>> percent(0.7), percent(0.999), percent(0.001), percent(None)
    ('70%', '>99%', '<1%', '–')
    """
    if share is None:
        return "–"
    return ">99%" if 0.995 <= share < 1 else "<1%" if 0 < share < 0.005 else f"{share:.0%}"


def pair_table(contrasts: Contrasts) -> tuple[list[str], list[list[str]]]:
    """Return the pairs, with the states that prefer each action, as columns and rows."""
    certain = contrasts.deterministic
    rows = [
        [
            display(pair.first),
            _states_preferring(pair, first=True, certain=certain),
            display(pair.second),
            _states_preferring(pair, first=False, certain=certain),
            f"{pair.tells:.2f} bits",
            percent(pair.guessed),
        ]
        for pair in contrasts.pairs
    ]
    return ["either", "preferred by", "or", "preferred by", TELLS, GUESSED], rows


def pair_rule(contrasts: Contrasts, *, actions: int, largest: float) -> str:
    """Explain the table of pairs."""
    text = (
        "People use different scales, so one rating is not informative. Each pair adds the most to those above it. "
        f"Information: bits of this answer alone, of {contrasts.bits:.2f} in total. State identified: probability that "
        f"the likeliest state is right after this answer and those above ({percent(largest)} without answers). "
    )
    if contrasts.deterministic:
        text += "People are assumed to follow their state's ordering exactly."
    else:
        text += "In brackets: expected share of the state's people."
    if any(_is_uncertain(chance) for pair in contrasts.pairs for chance in pair.chance_first):
        text += f" ?: the state's order of the two is uncertain (below {SURE:.0%})."
    if actions > CANDIDATES:
        text += f" Pairs of the {CANDIDATES} most contested actions were considered."
    return text


def trait_table(contrasts: Contrasts) -> tuple[list[str], list[list[str]]]:
    """Return the distinctive preferences as columns and rows."""
    rows = [
        [str(t.state), display(t.first), display(t.second), percent(t.says_first), percent(t.others_say_first)]
        for t in contrasts.traits
    ]
    return ["state", "prefers, more than others,", "to", MEMBERS, OTHERS], rows


def _states_preferring(pair: Pair, *, first: bool, certain: bool) -> str:
    """Return the states that prefer one of the two, and the shares of their people who do."""
    states, shares = [], []
    for z, (share, chance) in enumerate(zip(pair.says_first, pair.chance_first, strict=True)):
        if share is not None and (share >= 0.5) is first:
            states.append(f"{z}?" if _is_uncertain(chance) else str(z))
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


def _is_uncertain(chance: float | None) -> bool:
    return chance is not None and 1.0 - SURE < chance < SURE
