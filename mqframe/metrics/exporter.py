"""Gathers the metrics of all servers of a process as one text, in turns of their loop."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from itertools import chain, islice
from typing import Final, Protocol

from mqframe.core.measuring.family import Family
from mqframe.metrics.text import head, lines
from mqframe.net.turns import next_turn

TURN_SERIES: Final = 256
"""Series that are written in one turn of the loop: a histogram takes some 8 µs, a number less than one."""


class Measured(Protocol):
    """Somebody with metrics."""

    @property
    def labels(self) -> Mapping[str, str]:
        """The labels that all of them have."""

    def families(self) -> AsyncIterator[Family]:
        """All of them, each under a name of its own."""


class Exporter:
    """Writes what `sources` have; belongs to one loop. `series_max`: of one metric of one source."""

    def __init__(self, series_max: int) -> None:
        self.sources: list[Measured] = []
        self._series_max = series_max
        self._turn = asyncio.Lock()

    async def text(self) -> list[bytes]:
        """All metrics, in parts that belong behind each other. One text is made after the other."""
        async with self._turn:
            # Written as they come: of a hundred thousand series only the text is kept.
            found: dict[str, list[bytes]] = {}
            for source in self.sources:
                async for family in source.families():
                    if family.series:
                        parts = found.get(family.name)
                        if parts is None:
                            parts = found[family.name] = [head(family).encode()]
                        await self._write(parts, source.labels, family)
            return list(chain.from_iterable(found.values()))

    async def _write(self, parts: list[bytes], labels: Mapping[str, str], family: Family) -> None:
        left = lines(family, labels, self._series_max)
        while some := list(islice(left, TURN_SERIES)):
            parts.append("".join(some).encode())
            if len(some) == TURN_SERIES:
                await next_turn()
