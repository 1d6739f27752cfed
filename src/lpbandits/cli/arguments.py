"""Arguments and options: lists, whether an option was given, and extra arguments."""

from pathlib import Path
from typing import Any

import typer
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


def split_list(text: str) -> list[str]:
    """Return the items of a comma-separated list.

    >>> split_list("lpbts, ts,")
    ['lpbts', 'ts']
    """
    return [item.strip() for item in text.split(",") if item.strip()]


def is_given(context: typer.Context, name: str) -> bool:
    """Return whether an option is on the command line."""
    source = context.get_parameter_source(name)
    return source is not None and source.name == "COMMANDLINE"


def _too_many(extra: list[str]) -> str:
    more = f" and {len(extra) - 1:,} more" if len(extra) > 1 else ""
    hint = "; pass many files as one quoted pattern: 'ratings/*.parquet'" if any(map(_exists, extra)) else ""
    return f"Got unexpected extra argument(s) ({display(extra[0])}{more}){hint}"


def _exists(name: str) -> bool:
    try:
        return Path(name).exists()
    except (OSError, ValueError):
        return False
