"""Health and readiness of a process: does its loop turn, is its store recovered, do name servers know it?"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from msgspec import Struct


class Part(Protocol):
    """A server whose readiness counts."""

    @property
    def is_registered(self) -> bool:
        """Whether those that should know it do."""

    @property
    def refusal(self) -> str:
        """Why it takes no messages at the moment; empty when it does."""


class Health(Struct, frozen=True):
    """What /healthz and /readyz say. `waits_for`: what is missing to be ready, in words.

    `loop_delay_ms`: after how long the loop came to new work; `overloaded`: whether that is too long.
    `refuses`: why no messages are taken at the moment, empty when they are.
    """

    ready: bool
    overloaded: bool
    loop_delay_ms: int
    refuses: str
    waits_for: Sequence[str]


class Readiness:
    """What of the process has started. Written by the loop, read by threads.

    `expected`: names of the servers that there are to be.
    """

    def __init__(self, expected: Sequence[str]) -> None:
        self._expected = tuple(expected)
        self._started: dict[str, Part | None] = {}
        self._doing: dict[str, Callable[[], str]] = {}

    def starting(self, name: str, doing: Callable[[], str]) -> None:
        """The server `name` is to start; `doing`: returns what it does meanwhile, in words."""
        self._doing[name] = doing

    def started(self, name: str, part: Part | None = None) -> None:
        """The server `name` serves now."""
        self._started[name] = part

    def health(self, loop_delay_ms: int, overload_ms: int) -> Health:
        """How things are."""
        missing = [self._missing(name) for name in self._expected if name not in self._started]
        parts = [(name, part) for name, part in self._started.items() if part is not None]
        missing += [f"no name server knows {name}" for name, part in parts if not part.is_registered]
        refuses = next((part.refusal for _, part in parts if part.refusal), "")
        return Health(not missing, loop_delay_ms >= overload_ms, loop_delay_ms, refuses, missing)

    def _missing(self, name: str) -> str:
        doing = self._doing.get(name)
        return f"{name} has not started" + (f": {doing()}" if doing is not None else "")
