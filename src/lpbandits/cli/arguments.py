"""What a command says of arguments that it has no use for."""

from pathlib import Path
from typing import Any

from typer.core import TyperCommand

from lpbandits.text import display


class Command(TyperCommand):
    """A command that says how to name many files, where a shell made many arguments of one pattern."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Refuse what is left of the arguments, with a hint."""
        ctx.allow_extra_args = True
        left = super().parse_args(ctx, args)
        if left and not ctx.resilient_parsing:
            ctx.fail(_too_many(left))
        return left


def _too_many(left: list[str]) -> str:
    more = f" and {len(left) - 1:,} more" if len(left) > 1 else ""
    hint = "; many files are named by one pattern in quotes: 'ratings/*.parquet'" if any(map(_is_there, left)) else ""
    return f"Got unexpected extra argument(s) ({display(left[0])}{more}){hint}"


def _is_there(name: str) -> bool:
    try:
        return Path(name).exists()
    except (OSError, ValueError):
        return False
