"""Following the keys of a group."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import Any

from mqframe.core.errors import CoordinationError
from mqframe_etcd.gateway import Gateway, Quiet
from mqframe_etcd.keys import Json, number


class KeyWatch:
    """A stream of what happens to the keys in `keys`, opened when it is needed, and kept from one wait to the
    next.

    `quiet_seconds`: how long it is believed without a word; a connection that swallows all looks the same.
    """

    def __init__(self, gateway: Gateway, keys: Json, quiet_seconds: float) -> None:
        self._gateway = gateway
        self._keys = keys
        self._quiet_seconds = quiet_seconds
        self._latest = 0
        self._lines: AsyncGenerator[Json, None] | None = None

    async def past(self, revision: int) -> None:
        """Return when something happened after `revision` of the store; or early: when the stream ended, was
        quiet, or can no longer tell.

        Raises `CoordinationError` when no stream can be opened. One call at a time; may be cancelled.
        """
        if self._latest > revision:
            return
        lines, self._lines = self._lines, None
        if lines is None:
            create = {**self._keys, "start_revision": str(revision + 1)}
            lines = await self._gateway.stream("/v3/watch", {"create_request": create}, self._quiet_seconds)
        kept = False
        try:
            async for told in lines:
                self._note(told)
                if told.get("canceled"):
                    return
                if self._latest > revision:
                    kept = True
                    return
        except (Quiet, CoordinationError):
            return  # the caller reads, which says what there is and whether anybody answers
        finally:
            if kept:
                self._lines = lines
            else:
                await lines.aclose()

    async def close(self) -> None:
        """Close the stream."""
        lines, self._lines = self._lines, None
        if lines is not None:
            await lines.aclose()

    def _note(self, told: dict[str, Any]) -> None:
        for event in told.get("events", ()):
            self._latest = max(self._latest, number(event["kv"], "mod_revision"))
