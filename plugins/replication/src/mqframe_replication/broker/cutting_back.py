"""A slave's log that differs from its master's is cut back to what both have, where operators want that."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from mqframe.core.clock import Clock
from mqframe.core.errors import MqframeError
from mqframe.hooks.manager import PluginManager
from mqframe.log import get_logger
from mqframe.store.files.layout import Layout
from mqframe_replication.broker.comparison import Comparison
from mqframe_replication.store.cutting import cut_log

log = get_logger("replication")
Reopen = Callable[[Callable[[], Awaitable[object]]], object]
"""Stops the broker, does something without it, and starts it again."""


class CuttingBack:
    """Has the log in `layout`, that of `comparison`, cut. `reopen`: `None` where nobody can."""

    def __init__(self, comparison: Comparison, layout: Layout, clock: Clock, plugins: PluginManager) -> None:
        self._comparison = comparison
        self._layout = layout
        self._clock = clock
        self._plugins = plugins
        self.reopen: Reopen | None = None

    async def begin(self, master: str) -> str:
        """Have the log cut back to what `master` has of it, and the broker started on that.

        Why that is not done, to be added to what is wrong; empty: it is under way.
        """
        if self.reopen is None:
            return ". It is not cut back: this broker runs in a program of its own"
        try:
            end = await self._comparison.last_common(master)
        except MqframeError as problem:
            return f". It is not known from where on: {problem}"
        if end is None:
            return ". They have no record in common: start this broker with an empty store"

        async def cut() -> None:
            why = f"it differed from {master}"
            cut_log(self._layout.root, end, self._plugins.cut_backs(), why=why, now_ms=self._clock.now_ms())

        log.warning("the log is cut back to what the master has of it", master=master, offset=end)
        self.reopen(cut)
        return ""
