"""One way of working for plain and for asynchronous code: generators that yield the calls to make.

A call is a function without arguments. What it returns, awaited where it is awaitable, comes back into the
generator; what it raises is raised there.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from inspect import isawaitable, iscoroutine
from typing import Any, TypeVar

from mqframe_idempotence.errors import WrongUse

T = TypeVar("T")
Steps = Generator[Callable[[], Any], Any, T]


def run(steps: Steps[T]) -> T:
    """Make the calls here. Raises `WrongUse` where one has to be awaited."""
    try:
        call = next(steps)
        while True:
            try:
                value = call()
                if isawaitable(value):
                    if iscoroutine(value):
                        value.close()
                    raise WrongUse("a plain function returned an awaitable; make it an `async def`")
            except BaseException as problem:  # goes on where the call belongs
                call = steps.throw(problem)
            else:
                call = steps.send(value)
    except StopIteration as end:
        result: T = end.value
        return result


async def run_async(steps: Steps[T]) -> T:
    """Make the calls in the running loop."""
    try:
        call = next(steps)
        while True:
            try:
                value = call()
                if isawaitable(value):
                    value = await value
            except BaseException as problem:  # goes on where the call belongs, cancellations as well
                call = steps.throw(problem)
            else:
                call = steps.send(value)
    except StopIteration as end:
        result: T = end.value
        return result
