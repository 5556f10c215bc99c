"""Long work in slices, between which the loop serves others."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable, Sequence
from itertools import islice
from typing import TypeVar

T = TypeVar("T")


async def in_turns(items: Iterable[T], size: int) -> AsyncIterator[Sequence[T]]:
    """`items` in slices of at most `size`, each in a turn of the loop of its own; there may be none.

    What may change between turns is to be copied before.
    """
    rest = iter(items)
    while some := list(islice(rest, size)):
        yield some
        if len(some) < size:
            return
        await asyncio.sleep(0)
