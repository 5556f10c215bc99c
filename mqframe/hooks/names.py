"""Names that other distributions add to `mqframe`: `from mqframe import SimpleConsumer`."""

from __future__ import annotations

from functools import cache
from importlib.metadata import EntryPoint
from typing import Any, Final

from mqframe.hooks.installed import by_name, entry_points
from mqframe.hooks.known_distributions import KNOWN_NAMES, STANDARD

GROUP: Final = "mqframe.names"


@cache
def offered_names() -> dict[str, EntryPoint]:
    """What is installed, by name."""
    return by_name(entry_points(group=GROUP))


def load_name(name: str) -> Any:
    """The object called `name`, imported now.

    Raises `AttributeError` where there is none; it says what to install where that is known.
    """
    offer = offered_names().get(name)
    if offer is not None:
        return offer.load()
    distribution = KNOWN_NAMES.get(name)
    if distribution is None:
        raise AttributeError(f"module 'mqframe' has no attribute {name!r}")
    raise AttributeError(f"mqframe.{name} is not installed; install it with: {install_line(distribution)}")


def install_line(distribution: str) -> str:
    """What to type to have `distribution`."""
    line = f"pip install {distribution}"
    return f'pip install "mqframe[standard]"; it alone: {line}' if distribution in STANDARD else line
