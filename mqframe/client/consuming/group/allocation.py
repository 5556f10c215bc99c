"""The allocation strategy of a member: chosen when it is made, and exchanged while it runs."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import Any, Final

from mqframe.client.configuration.from_config import ConfigSource
from mqframe.core.errors import MqframeError, SettingError
from mqframe.hooks.interfaces import AllocationStrategy
from mqframe.hooks.manager import PluginManager
from mqframe.log import get_logger
from mqframe.net.clock import Every, LoopClock
from mqframe.trouble import Trouble

KIND: Final = "allocation"
DEFAULT: Final = "averagely"
log = get_logger("client")


class AllocationChoice:
    """An allocation strategy by name, class or object, with its options.

    Raises `PluginError` for a name that stands for none, `SettingError` for wrong options.
    """

    def __init__(self, plugins: PluginManager, choice: object, options: object = None) -> None:
        self._plugins = plugins
        self.strategy: AllocationStrategy = plugins.create(KIND, choice, options)

    def change(self, choice: object, options: object = None, plugins: PluginManager | None = None) -> None:
        """Take another strategy from now on; when that cannot be made, the present one stays.

        `plugins`: where it and all later ones come from. Raises as the constructor.
        """
        plugins = plugins or self._plugins
        self.strategy = plugins.create(KIND, choice, options)
        self._plugins = plugins


class AllocationWatch:
    """Has a configuration looked at every `seconds`, and what it says of the allocation taken over.

    `cls`: the class of the client; `change(choice, options, plugins)`: takes another strategy over. What code
    has changed meanwhile stays as long as the configuration says the same.
    """

    def __init__(
        self,
        source: ConfigSource,
        seconds: float,
        cls: type[Any],
        change: Callable[[object, object, PluginManager], None],
    ) -> None:
        if not seconds > 0:
            raise SettingError(f"watch = {seconds!r}: must be above 0, in seconds; 0 is never")
        self._source = source
        self._seconds = seconds
        self._cls = cls
        self._change = change
        self._timer: Every | None = None
        self._said = self._read()[:2]

    def start(self, clock: LoopClock) -> None:
        """Begin to look."""
        self._unusable = Trouble(log, clock.monotonic, level=logging.ERROR)
        self._timer = Every(clock, self._seconds, self._look, name="configuration")

    def stop(self) -> None:
        """Look no more."""
        if self._timer is not None:
            self._timer.stop()

    async def _look(self) -> None:
        if not await asyncio.to_thread(self._source.changed):
            return
        try:
            choice, options, plugins = await asyncio.to_thread(self._read)
            if (choice, options) != self._said:
                self._change(choice, options, plugins)
                self._said = choice, options
        except MqframeError as problem:
            event = "configuration cannot be used; nothing changes"
            self._unusable.note(event, kind=str(problem), reason=str(problem))
        else:
            self._unusable.over("configuration can be used again")

    def _read(self) -> tuple[object, object, PluginManager]:
        found = self._source.arguments(self._cls)
        choice, plugins = found.get("allocate", DEFAULT), found["plugins"]
        return choice, plugins.check(KIND, choice, found.get("allocate_options")), plugins
