"""Gathers the metrics of all servers of a process as one text, in turns of their loop."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from itertools import chain
from typing import Final

from mqframe.core.measuring.family import MetricTable
from mqframe_metrics.broker.stint import Stint
from mqframe_metrics.serving.text import TableText, head
from mqframe_metrics.source import Measured

TURN_SECONDS: Final = 0.0005
"""How long a turn of the loop is used for metrics."""


class Gatherer:
    """Writes what `sources` have; belongs to one loop. `series_max`: of one metric of one source.

    `now`: gives the time, s, by which turns end.
    """

    def __init__(self, series_max: int, now: Callable[[], float] = time.perf_counter) -> None:
        self.sources: list[Measured] = []
        self._series_max = series_max
        self._now = now
        self._turn = asyncio.Lock()

    async def text(self) -> list[bytes]:
        """All metrics, in parts that belong behind each other. One text is made after the other."""
        async with self._turn:
            # Written as they come: of a hundred thousand series only the text is kept.
            found: dict[str, list[bytes]] = {}
            stint = Stint(TURN_SECONDS, self._now)
            for source in self.sources:
                async for metric in source.families():
                    table = metric if isinstance(metric, MetricTable) else metric.table()
                    text = TableText(table.families, source.labels, self._series_max)
                    async for labels, values in table.rows:
                        text.add(labels, values)
                        if stint.is_over:
                            _keep(text, found)
                            await stint.next()
                    text.end()
                    _keep(text, found)
            return list(chain.from_iterable(found.values()))


def _keep(text: TableText, found: dict[str, list[bytes]]) -> None:
    for family, part in text.take():
        parts = found.get(family.name)
        if parts is None:
            parts = found[family.name] = [head(family).encode()]
        parts.append(part)
