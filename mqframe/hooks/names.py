"""Names that other distributions add to `mqframe`: `from mqframe import SimpleConsumer`."""

from __future__ import annotations

from functools import cache
from importlib.metadata import EntryPoint, entry_points
from typing import Any, Final

from mqframe.hooks.known_distributions import KNOWN_NAMES, STANDARD

GROUP: Final = "mqframe.names"


@cache
def offered_names() -> dict[str, EntryPoint]:
    """What is installed, by name. Where two distributions offer one name, the first that is found has it."""
    found: dict[str, EntryPoint] = {}
    for each in entry_points(group=GROUP):
        found.setdefault(each.name, each)
    return found


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
