"""Long work in slices, between which the loop serves others.

However many such works there are, the loop does one slice of one of them in a turn.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Iterable, Sequence
from itertools import islice
from typing import Final, TypeVar
from weakref import WeakKeyDictionary

T = TypeVar("T")


class _Queue:
    """The works that wait for their turn in one loop."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._waiting: deque[asyncio.Future[None]] = deque()

    def join(self) -> asyncio.Future[None]:
        turn: asyncio.Future[None] = self._loop.create_future()
        if not self._waiting:
            self._loop.call_soon(self._advance)
        self._waiting.append(turn)
        return turn

    def _advance(self) -> None:
        while self._waiting:
            turn = self._waiting.popleft()
            if not turn.done():  # else its work was cancelled
                turn.set_result(None)
                break
        if self._waiting:
            self._loop.call_soon(self._advance)


_queues: Final[WeakKeyDictionary[asyncio.AbstractEventLoop, _Queue]] = WeakKeyDictionary()


async def next_turn() -> None:
    """Return in a later turn of the loop, in which no other long work goes on."""
    loop = asyncio.get_running_loop()
    queue = _queues.get(loop)
    if queue is None:
        queue = _queues[loop] = _Queue(loop)
    await queue.join()


async def in_turns(items: Iterable[T], size: int) -> AsyncIterator[Sequence[T]]:
    """`items` in slices of at most `size`, each in a turn of its own; there may be none.

    Fewer than `size` come at once: that is no long work. What may change between turns is to be copied
    before.
    """
    rest = iter(items)
    some = list(islice(rest, size))
    if len(some) == size:
        await next_turn()
    while some:
        yield some
        if len(some) < size:
            return
        await next_turn()
        some = list(islice(rest, size))


class Pace:
    """Says when a work that takes steps of different sizes has had its turn: after `size` of them."""

    __slots__ = ("_left", "_size")

    def __init__(self, size: int) -> None:
        self._size = size
        self._left = size

    async def step(self, steps: int = 1) -> None:
        """So many steps were made; waits for the next turn where that was enough for one."""
        self._left -= steps
        if self._left <= 0:
            self._left = self._size
            await next_turn()
