"""A stretch of a master's log, from a master that speaks by itself."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest
from mqframe_replication.rules.stream import encode_report, frame_head
from mqframe_replication.stream.fetching import fetch
from mqframe_testing.manual_clock import ManualClock

from mqframe.core.errors import ConnectError, FrameError


def fetched(parts: Sequence[bytes], *, leaves: bool = False, waits: float = 0) -> tuple[bytes, bytes]:
    """What was fetched of log offsets 100 to 110 from a master that sends `parts`, and what it was told."""

    async def whole() -> tuple[bytes, bytes]:
        clock, told = ManualClock(), bytearray()

        async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            told.extend(await reader.readexactly(8))
            for part in parts:
                writer.write(part)
                await writer.drain()
                await asyncio.sleep(0)
            if leaves:
                writer.close()
            await reader.read()
            writer.close()

        async with await asyncio.start_server(serve, "127.0.0.1", 0) as server:
            address = f"127.0.0.1:{server.sockets[0].getsockname()[1]}"
            task = asyncio.ensure_future(fetch(clock, address, (100, 110), 20))
            await clock.aadvance(waits)
            return await task, bytes(told)

    return asyncio.run(whole())


def test_the_master_is_told_where_to_begin_and_left_when_all_has_come() -> None:
    heartbeat = frame_head(100, 0)
    whole = heartbeat + frame_head(100, 4) + b"abcd" + frame_head(104, 20) + b"efghijklmnopqrstuvwx"
    assert fetched([whole]) == (b"abcdefghij", encode_report(100))
    assert fetched([whole[at : at + 1] for at in range(len(whole))])[0] == b"abcdefghij"


def test_a_master_that_begins_elsewhere_is_refused() -> None:
    with pytest.raises(FrameError, match="begins at log offset 64 where 100 is needed"):
        fetched([frame_head(64, 4) + b"abcd"])


def test_a_master_that_leaves_is_named() -> None:
    with pytest.raises(ConnectError, match="left while"):
        fetched([frame_head(100, 4) + b"abcd"], leaves=True)


def test_heartbeats_alone_are_not_waited_for_for_ever() -> None:
    with pytest.raises(ConnectError, match="sends nothing of its log from offset 100 on"):
        fetched([frame_head(100, 0)] * 3, waits=20.1)
