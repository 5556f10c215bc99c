"""What is written together, and when."""

from __future__ import annotations

import asyncio
from typing import cast

from mqframe_testing.manual_clock import ManualClock

from mqframe.net.send_buffer import LOOK_BYTES, SendBuffer


class Transport:
    """Remembers what was written."""

    def __init__(self) -> None:
        self.written: list[bytes] = []
        self.closing = False

    def write(self, data: bytes) -> None:
        self.written.append(bytes(data))

    def is_closing(self) -> bool:
        return self.closing

    def get_write_buffer_size(self) -> int:
        return 7


def staged() -> tuple[SendBuffer, Transport, ManualClock]:
    clock, transport = ManualClock(), Transport()
    buffer = SendBuffer(asyncio.get_running_loop(), clock)
    buffer.transport = cast("asyncio.Transport", transport)
    return buffer, transport, clock


async def test_frames_of_one_turn_leave_with_one_write() -> None:
    buffer, transport, clock = staged()
    clock.advance(5)
    buffer.put(b"a", b"1")
    buffer.put(b"b", [b"2", bytearray(b"3"), memoryview(b"4")])
    buffer.put(b"c", b"")
    assert (transport.written, buffer.gathered_bytes, buffer.unsent_bytes) == ([], 7, 14)
    await asyncio.sleep(0)
    assert (transport.written, buffer.gathered_bytes, buffer.unsent_bytes) == ([b"a1b234c"], 0, 7)
    assert buffer.last_write == clock.monotonic()
    await asyncio.sleep(0)
    assert len(transport.written) == 1


async def test_a_lone_frame_may_leave_at_once_unless_others_are_on_their_way() -> None:
    buffer, transport, _clock = staged()
    buffer.put(b"a", b"", at_once=True)
    assert transport.written == [b"a"]
    buffer.put(b"b", b"")
    buffer.put(b"c", b"", at_once=True)
    assert transport.written == [b"a"]
    await asyncio.sleep(0)
    assert transport.written == [b"a", b"bc"]


async def test_while_a_read_is_handled_all_is_kept_for_its_end() -> None:
    buffer, transport, _clock = staged()
    buffer.gathering = True
    mapped = bytearray(b"1")
    buffer.put(b"a", memoryview(mapped), at_once=True)
    mapped[0:1] = b"2"  # a view, not a copy
    await asyncio.sleep(0)
    assert transport.written == []
    buffer.gathering = False
    buffer.flush()
    assert transport.written == [b"a2"]
    buffer.put(b"b", memoryview(mapped))
    mapped[0:1] = b"3"  # outside of a read parts are copied
    await asyncio.sleep(0)
    assert transport.written == [b"a2", b"b2"]


async def test_nothing_is_written_to_what_is_closing_or_not_there() -> None:
    buffer, transport, _clock = staged()
    transport.closing = True
    buffer.put(b"a", b"", at_once=True)
    buffer.transport = None
    buffer.put(b"b", b"", at_once=True)
    assert (transport.written, buffer.unsent_bytes) == ([], 0)


async def test_what_has_not_left_is_told_now_and_then_and_until_all_has() -> None:
    told: list[int] = []
    transport = Transport()
    left = [0]
    transport.get_write_buffer_size = lambda: left[0]  # type: ignore[method-assign]
    buffer = SendBuffer(asyncio.get_running_loop(), ManualClock(), told.append)
    buffer.transport = cast("asyncio.Transport", transport)
    for size, unsent in (
        (100, 100),
        (LOOK_BYTES + 1, 0),
        (LOOK_BYTES + 1, 70),
        (1, 71),
        (1, 0),
        (1, 5),
        (1, 6),
    ):
        left[0] = unsent
        buffer.put(b"x" * size, b"", at_once=True)
    assert told == [70, 71, 0]


async def test_what_is_held_leaves_with_one_write_once_it_is_let_go() -> None:
    buffer, transport, _clock = staged()
    mapped = bytearray(b"view")
    buffer.gathering = True
    buffer.put(b"a", memoryview(mapped))
    buffer.hold()
    buffer.gathering = False
    mapped[:] = b"gone"
    buffer.flush()
    buffer.put(b"b", b"", at_once=True)
    buffer.put(b"c", b"")
    await asyncio.sleep(0)
    assert (transport.written, buffer.gathered_bytes) == ([], 7)
    buffer.release()
    assert (transport.written, buffer.gathered_bytes) == ([b"aviewbc"], 0)
    buffer.put(b"d", b"", at_once=True)
    assert transport.written[1:] == [b"d"]
