"""What of a stream ends a wait, and when the stream is kept."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from typing import Any

import pytest
from mqframe_etcd.gateway import Gateway, Quiet
from mqframe_etcd.watch import KeyWatch

from mqframe.core.errors import CoordinationError

KEYS = {"key": "a", "range_end": "b"}
CREATED = {"created": True}


def events(*revisions: int) -> dict[str, Any]:
    return {"events": [{"kv": {"key": "a", "mod_revision": str(each)}} for each in revisions]}


class Scripted(Gateway):
    """Opens streams of what a test puts in: messages, or errors; `Ellipsis` is one that stays open."""

    def __init__(self, *streams: list[Any]) -> None:
        self.streams = list(streams)
        self.opened: list[dict[str, Any]] = []
        self.closed = 0

    async def stream(
        self, path: str, body: dict[str, Any], quiet_seconds: float
    ) -> AsyncGenerator[dict[str, Any], None]:
        assert (path, quiet_seconds) == ("/v3/watch", 5.0)
        self.opened.append(body["create_request"])
        if not self.streams:
            raise CoordinationError("nobody is there")
        return self._lines(self.streams.pop(0))

    async def _lines(self, script: list[Any]) -> AsyncGenerator[dict[str, Any], None]:
        try:
            for each in script:
                if each is ...:
                    await asyncio.Event().wait()
                if isinstance(each, Exception):
                    raise each
                yield each
        finally:
            self.closed += 1


def watch(*streams: list[Any]) -> tuple[KeyWatch, Scripted]:
    gateway = Scripted(*streams)
    return KeyWatch(gateway, KEYS, 5.0), gateway


async def ends(watching: KeyWatch, revision: int) -> bool:
    """Whether a wait for what comes after `revision` ends by itself."""
    task = asyncio.ensure_future(watching.past(revision))
    for _ in range(20):
        await asyncio.sleep(0)
    if task.done():
        await task
        return True
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    return False


async def test_a_wait_begins_behind_what_was_read() -> None:
    watching, gateway = watch([CREATED, events(8), ...])
    assert await ends(watching, 7)
    assert gateway.opened == [{**KEYS, "start_revision": "8"}]


async def test_what_was_read_already_ends_no_wait_and_the_stream_is_kept() -> None:
    watching, gateway = watch([CREATED, events(8, 9), events(10), events(12), ...])
    assert await ends(watching, 7)
    assert await ends(watching, 8)  # told together with 8
    assert await ends(watching, 11)
    assert (len(gateway.opened), gateway.closed) == (1, 0)
    assert not await ends(watching, 12)


@pytest.mark.parametrize(
    "end",
    [
        [Quiet()],
        [CoordinationError("the stream broke")],
        [],
        [{"canceled": True, "compact_revision": "9"}, ...],
        [{"created": True, "canceled": True, "cancel_reason": "permission denied"}, ...],
    ],
)
async def test_a_stream_that_tells_no_more_ends_the_wait_early(end: list[Any]) -> None:
    watching, gateway = watch([CREATED, *end], [CREATED, events(20), ...])
    assert await ends(watching, 7)
    assert gateway.closed == 1
    assert await ends(watching, 19)
    assert [each["start_revision"] for each in gateway.opened] == ["8", "20"]


async def test_a_stream_that_cannot_be_opened_is_an_error() -> None:
    watching, _ = watch()
    with pytest.raises(CoordinationError, match="nobody is there"):
        await watching.past(7)


async def test_a_wait_that_is_cancelled_closes_its_stream_and_the_next_one_opens_another() -> None:
    watching, gateway = watch([CREATED, ...], [CREATED, events(8), ...])
    assert not await ends(watching, 7)
    assert gateway.closed == 1
    assert await ends(watching, 7)
    await watching.close()
    assert gateway.closed == 2
    await watching.close()
