"""Runs tests that are `async def`: the hook of conftest.py, or `pytest -p async_tests` elsewhere."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable, Coroutine
from functools import wraps
from typing import Any

import pytest

SECONDS_MAX = 280


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """Run tests that are `async def` in a loop of their own, in which a hang becomes an error.

    One that takes the fixture `simulation` runs in that, in simulated time. With hypothesis each example has
    a loop of its own.
    """
    test = pyfuncitem.obj
    examples = getattr(test, "hypothesis", None)
    if examples is not None and inspect.iscoroutinefunction(examples.inner_test):
        examples.inner_test = in_own_loop(examples.inner_test)
        return None
    if not inspect.iscoroutinefunction(test):
        return None
    arguments = {name: pyfuncitem.funcargs[name] for name in inspect.signature(test).parameters}
    simulation = arguments.get("simulation")
    if simulation is not None:
        simulation.run(test(**arguments))
    elif pyfuncitem.get_closest_marker("long"):
        asyncio.run(test(**arguments))
    else:
        in_own_loop(test)(**arguments)
    return True


def in_own_loop(test: Callable[..., Coroutine[Any, Any, None]]) -> Callable[..., None]:
    """`test` as a plain function."""

    async def bounded(*args: Any, **named: Any) -> None:
        async with asyncio.timeout(SECONDS_MAX):
            await test(*args, **named)

    @wraps(test)
    def run(*args: Any, **named: Any) -> None:
        asyncio.run(bounded(*args, **named))

    return run
