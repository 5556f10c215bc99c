"""The shorter way of a broker's requests, closed while there are quotas: it knows none."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


class QuotaPath:
    """The `FramePath` `path`, which leaves everything to others while `stands` says that quotas do."""

    def __init__(self, path: Any, stands: Callable[[], bool]) -> None:
        self._path = path
        self._stands = stands

    def may_take(self, data: bytes, start: int) -> bool:
        """As `FramePath.may_take`."""
        return not self._stands() and bool(self._path.may_take(data, start))

    def take(self, data: bytes, start: int, peer: Any, received: float) -> Any:
        """As `FramePath.take`."""
        return None if self._stands() else self._path.take(data, start, peer, received)

    def take_one(self, request: Any, body: Any, peer: Any, received: float) -> Any:
        """As `FramePath.take_one`."""
        return None if self._stands() else self._path.take_one(request, body, peer, received)

    def enforce(self, who: Any, what: Any) -> bool:
        """As `FramePath.enforce`."""
        heeds: bool = self._path.enforce(who, what)
        return heeds
