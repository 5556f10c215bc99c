"""Coroutines that are run at once as far as they go: most calls wait for nothing, and need no task."""

from __future__ import annotations

from collections.abc import Coroutine, Generator
from typing import Any, Generic, NamedTuple, TypeVar

T = TypeVar("T")


class Finished(NamedTuple, Generic[T]):
    """The coroutine waited for nothing, and returned `result`."""

    result: T


def run_at_once(work: Coroutine[Any, Any, T]) -> Finished[T] | Coroutine[Any, Any, T]:
    """Run `work` up to where it waits; what is left of it, for a task, or what it returned.

    That part runs in no task of its own, so it may not ask for the current one. Raises what `work` raises.
    """
    try:
        waits_for = work.send(None)
    except StopIteration as done:
        return Finished(done.value)
    return _rest(_Rest(work, waits_for))


async def _rest(rest: _Rest[T]) -> T:
    return await rest


class _Rest(Generic[T]):
    """What is left of `work`, which waits for `first`."""

    __slots__ = ("_first", "_work")

    def __init__(self, work: Coroutine[Any, Any, T], first: Any) -> None:
        self._work = work
        self._first = first

    def __await__(self) -> Generator[Any, Any, T]:
        work, waits_for = self._work, self._first
        while True:
            problem: BaseException | None = None
            value = None
            try:
                value = yield waits_for
            except BaseException as thrown:  # the task's cancelling, or what its future failed with
                problem = thrown
            try:
                waits_for = work.send(value) if problem is None else work.throw(problem)
            except StopIteration as done:
                result: T = done.value
                return result
