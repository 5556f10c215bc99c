"""Compatibility: who has to be able to read what whom wrote when a schema changes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import StrEnum
from typing import Protocol

import attrs


class Rule(StrEnum):
    """What a new version of a schema has to keep to.

    BACKWARD: who reads by it reads what was written by those before; FORWARD: who reads by one of those
    reads what is written by it; FULL: both; NONE: nothing is asked.
    """

    BACKWARD = "backward"
    FORWARD = "forward"
    FULL = "full"
    NONE = "none"


@attrs.frozen
class Difference:
    """Why a reader cannot read what a writer writes. `path`: where in the value, "" for the whole."""

    path: str
    problem: str

    def __str__(self) -> str:
        return f"{self.path}: {self.problem}" if self.path else self.problem


class Described(Protocol):
    """A schema, as far as rules look at it."""

    @property
    def text(self) -> str:
        """What name servers keep."""

    @property
    def name(self) -> str:
        """Of what it describes, "" where that has none."""


class Numbered(Described, Protocol):
    """A version of a schema."""

    @property
    def number(self) -> int:
        """From 1 on."""


Reads = Callable[[Described, Described], list[Difference]]
"""Takes the writer's schema and the reader's: what the reader cannot read of it, nothing where it can."""


def breaks(rule: Rule, older: Sequence[Numbered], new: Described, reads: Reads) -> list[str]:
    """What `new` breaks of `rule`, a line each with the version that it concerns; the newest one first."""
    told: list[str] = []
    for version in sorted(older, key=lambda each: -each.number):
        if rule in (Rule.BACKWARD, Rule.FULL):
            told += [
                f"what was written by version {version.number} could not be read any more: {each}"
                for each in reads(version, new)
            ]
        if rule in (Rule.FORWARD, Rule.FULL):
            told += [
                f"readers with version {version.number} could not read what is written from now on: {each}"
                for each in reads(new, version)
            ]
    return told
