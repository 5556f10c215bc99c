"""How far the dispatchers that follow the log are behind: counters for operators, warnings in the log."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from mqframe.broker.tables.live_settings import LiveSettings
from mqframe.core.clock import Clock
from mqframe.hooks.interfaces import BrokerService, Periodic
from mqframe.log import get_logger
from mqframe.store.following.lag import Lag

log = get_logger("broker")
LOOK_SECONDS: Final = 30.0
AGAIN_MS: Final = 600_000
"""So often a dispatcher that stays behind is warned of."""


class DispatchLag(BrokerService):
    """Shows and watches how far each dispatcher is behind.

    `lags`: returns that; with `count=False` it need not count messages, which takes some reads.
    """

    def __init__(self, lags: Callable[..., list[Lag]], live: LiveSettings, clock: Clock) -> None:
        self._lags = lags
        self._live = live
        self._clock = clock
        self._warned_ms: dict[str, int] = {}

    def periodic(self) -> list[Periodic]:
        """Look whether one is far behind."""
        return [Periodic(LOOK_SECONDS, self.look, "dispatcher lag")]

    def counters(self) -> dict[str, str]:
        """For each dispatcher where it is in the log, and how far behind in bytes, messages and ms.

        The number of messages is -1 where finding it out would take too long.
        """
        now = self._clock.now_ms()
        table: dict[str, str] = {}
        for lag in self._lags():
            messages = -1 if lag.messages is None else lag.messages
            table |= {
                f"dispatcher.{lag.name}.cursor": str(lag.cursor),
                f"dispatcher.{lag.name}.behindBytes": str(lag.size_bytes),
                f"dispatcher.{lag.name}.behindMessages": str(messages),
                f"dispatcher.{lag.name}.behindMs": str(lag.age_ms(now)),
            }
        return table

    def look(self) -> None:
        """Warn of dispatchers that are far behind, and say when one no longer is."""
        limit_ms = self._live.current.dispatcher_lag_warn_seconds * 1000
        now = self._clock.now_ms()
        for lag in self._lags(count=False):
            age = lag.age_ms(now)
            warned = self._warned_ms.get(lag.name)
            if not limit_ms or age < limit_ms:
                if warned is not None:
                    del self._warned_ms[lag.name]
                    log.info("dispatcher has caught up", dispatcher=lag.name, behind_ms=age)
            elif warned is None or now - warned >= AGAIN_MS:
                self._warned_ms[lag.name] = now
                log.warning(
                    "dispatcher is far behind",
                    dispatcher=lag.name,
                    behind_bytes=lag.size_bytes,
                    behind_ms=age,
                )
