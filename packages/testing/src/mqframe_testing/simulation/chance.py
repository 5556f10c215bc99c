"""Chance that follows from a seed, and names of clients that follow from their number."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from typing import Any, Final

# The first event that is logged imports it, with libraries that draw from `random` as they load: the first
# run of a process would go on with other draws than the next one.
import structlog  # noqa: F401

from mqframe.client.connection import identity

FIRST_INSTANCE: Final = 10**12


@contextmanager
def seeded(seed: int) -> Iterator[None]:
    """Inside, the functions of `random` and each `Random()` without a seed of its own draw what `seed` says.

    Afterwards the functions go on as if nothing had been drawn. `SystemRandom`, `secrets` and `uuid` stay as
    they are: what they make is to be unlike anything else, not to be acted upon.
    """
    before, state, seeds = random.Random.seed, random.getstate(), random.Random(f"seeds {seed}")

    def seed_by_chance(chance: random.Random, a: Any = None, version: int = 2) -> None:
        before(chance, seeds.getrandbits(64) if a is None else a, version)

    random.seed(f"random {seed}")
    random.Random.seed = seed_by_chance  # type: ignore[method-assign, assignment]
    try:
        yield
    finally:
        random.Random.seed = before  # type: ignore[method-assign]
        random.setstate(state)


@contextmanager
def numbered_clients() -> Iterator[None]:
    """Inside, clients that are given no instance name are named by their number, from `FIRST_INSTANCE` on.

    A process id, and the time since the machine was started, have more or fewer digits: frames would be of
    other sizes, and so be split in other places, and what is drawn behind that would be for something else.
    """
    own, numbers = identity.own_instance, count(FIRST_INSTANCE)
    identity.own_instance = lambda: f"1#{next(numbers)}"
    try:
        yield
    finally:
        identity.own_instance = own
