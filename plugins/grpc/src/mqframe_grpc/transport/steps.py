"""Coroutines that are run at once as far as they go: most calls wait for nothing, and need no task."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Generator
from typing import Any, Generic, NamedTuple, TypeVar

T = TypeVar("T")


class Finished(NamedTuple, Generic[T]):
    """The coroutine waited for nothing, and returned `result`."""

    result: T


def run_at_once(work: Coroutine[Any, Any, T]) -> Finished[T] | Coroutine[Any, Any, T]:
    """Run `work` up to where it waits; what is left of it, for a task alone, or what it returned.

    That part runs in no task of its own, so it may not ask for the current one. Raises what `work` raises.
    """
    try:
        waits_for = work.send(None)
    except StopIteration as done:
        return Finished(done.value)
    return _Rest(work, waits_for)


class _Rest(Coroutine[Any, Any, T]):
    """What is left of `work`, which waits for `first`.

    Unlike a coroutine that did not begin yet, it hears of being cancelled before its task's first step.
    """

    __slots__ = ("_first", "_has_first", "_work")

    def __init__(self, work: Coroutine[Any, Any, T], first: Any) -> None:
        self._work = work
        self._first = first
        self._has_first = True

    @property
    def __name__(self) -> str:  # what a task is called in logs
        return str(getattr(self._work, "__qualname__", "?"))

    def send(self, value: Any) -> Any:
        if self._has_first:
            return self._take_first()
        return self._work.send(value)

    def throw(self, kind: Any, value: Any = None, trace: Any = None, /) -> Any:
        problem = kind if value is None else value
        if self._has_first:
            first = self._take_first()
            if isinstance(problem, asyncio.CancelledError) and _cancel(first):
                return first  # which passes it on, as to any task that waits for it
        return self._work.throw(problem)

    def close(self) -> None:
        self._work.close()

    def __await__(self) -> Generator[Any, Any, T]:
        raise TypeError("only a task takes what is left")

    def _take_first(self) -> Any:
        first, self._first, self._has_first = self._first, None, False
        return first


def _cancel(waits_for: Any) -> bool:
    return isinstance(waits_for, asyncio.Future) and waits_for.cancel()
