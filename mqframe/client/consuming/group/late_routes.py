"""Routes that may be out of date, since a broker that they name cannot be reached."""

from __future__ import annotations

from typing import Final

from mqframe.client.connection.instance import ClientInstance
from mqframe.core.errors import MqframeError
from mqframe.log import get_logger
from mqframe.net.clock import LoopClock

log: Final = get_logger("client")
AGAIN_SECONDS: Final = 10.0
"""A topic's route is asked for so often at most: a third of the time between two polls."""


class LateRoutes:
    """Asks for a route before its next poll, so that readers go on from a slave without waiting for that."""

    def __init__(self, instance: ClientInstance, clock: LoopClock) -> None:
        self._instance = instance
        self._clock = clock
        self._asked: dict[str, float] = {}

    def ask(self, topic: str) -> None:
        """A broker of `topic` cannot be reached: ask for the route beside, unless that was done just now."""
        now = self._clock.monotonic()
        if now - self._asked.get(topic, -AGAIN_SECONDS) >= AGAIN_SECONDS:
            self._asked[topic] = now
            self._instance.spawn(self._refresh(topic))

    async def _refresh(self, topic: str) -> None:
        try:
            await self._instance.route(topic, refresh=True)
        except MqframeError as problem:
            log.info("route was not renewed", topic=topic, reason=str(problem))
