"""Installed distributions and their entry points, all read once: each look at them takes milliseconds."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from functools import cache
from importlib import metadata
from importlib.metadata import Distribution, EntryPoint
from typing import Any


def entry_points(*, group: str) -> list[EntryPoint]:
    """Those of `group`, in the order in which they are found."""
    return list(_all(tuple(sys.path)).select(group=group))


@cache
def _all(path: tuple[str, ...]) -> Any:
    # Distributions on a path stay what they are while a program runs. Python 3.11 has another class for them.
    return metadata.entry_points()


def by_name(found: Iterable[EntryPoint]) -> dict[str, EntryPoint]:
    """Where two distributions offer one name, the first that was found has it."""
    offers: dict[str, EntryPoint] = {}
    for each in found:
        offers.setdefault(each.name, each)
    return offers


@cache
def name_and_version(distribution: Distribution) -> tuple[str, str]:
    """What `distribution` is called, by its metadata, which are parsed like a mail."""
    told = distribution.metadata
    return told["Name"], told["Version"]
