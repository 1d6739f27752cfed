"""Error message for extra arguments."""

from pathlib import Path
from typing import Any

from typer.core import TyperCommand

from lpbandits.text import display


class Command(TyperCommand):
    """A command that explains how to pass many files when the shell has expanded a pattern."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Reject extra arguments with a hint."""
        ctx.allow_extra_args = True
        extra = super().parse_args(ctx, args)
        if extra and not ctx.resilient_parsing:
            ctx.fail(_too_many(extra))
        return extra


def _too_many(extra: list[str]) -> str:
    more = f" and {len(extra) - 1:,} more" if len(extra) > 1 else ""
    hint = "; pass many files as one quoted pattern: 'ratings/*.parquet'" if any(map(_exists, extra)) else ""
    return f"Got unexpected extra argument(s) ({display(extra[0])}{more}){hint}"


def _exists(name: str) -> bool:
    try:
        return Path(name).exists()
    except (OSError, ValueError):
        return False
