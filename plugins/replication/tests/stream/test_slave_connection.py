"""The connection of one slave, over a line that the test looks at."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from master_port import HELLO, LIMITS, Log
from mqframe_replication.rules.feed import Feed, PlainFraming
from mqframe_replication.rules.hello import Hello
from mqframe_replication.rules.send_rate import SendRate
from mqframe_replication.rules.stream import encode_report, frame_head
from mqframe_replication.stream.refusals import ConnectionRefusals
from mqframe_replication.stream.slave_connection import SlaveConnection
from mqframe_testing.manual_clock import ManualClock


class Line:
    """A transport that keeps what is written; nothing of it has left."""

    def __init__(self) -> None:
        self.written = b""
        self.is_aborted = False

    def get_extra_info(self, name: str) -> Any:
        return ("10.0.0.7", 4000)

    def write(self, data: bytes) -> None:
        self.written += data

    def get_write_buffer_size(self) -> int:
        return len(self.written)

    def abort(self) -> None:
        self.is_aborted = True


class Port:
    """The port of a log of 250 bytes; `happened`: what it was notified of."""

    def __init__(self) -> None:
        self.clock = ManualClock()
        self.source, self.limits = Log(bytes(range(250))), LIMITS
        self.rate: SendRate | None = None
        self.refusals = ConnectionRefusals(self.clock)
        self.happened: list[str] = []

    def push(self) -> None:
        self.happened.append("push")

    def join(self, slave: SlaveConnection) -> None:
        self.happened.append("join")

    def heard(self, slave: SlaveConnection) -> None:
        self.happened.append(f"heard {slave.feed.acknowledged}")

    def leave(self, slave: SlaveConnection) -> None:
        self.happened.append("leave")

    def connect(self, hello: Hello | None = None) -> tuple[SlaveConnection, Line]:
        slave, line = SlaveConnection(self, hello, Feed(LIMITS, 0, PlainFraming())), Line()
        slave.connection_made(line)  # type: ignore[arg-type]
        return slave, line


def test_a_slave_is_fed_from_where_it_says_that_its_log_ends() -> None:
    port = Port()
    slave, line = port.connect()
    assert (slave.address, slave.is_followed, port.happened) == ("10.0.0.7:4000", False, ["join"])
    slave.data_received(encode_report(1100))
    data = port.source.data
    assert line.written == frame_head(1100, 100) + data[100:200] + frame_head(1200, 50) + data[200:]
    assert (slave.is_followed, port.happened) == (True, ["join", "heard 1100"])
    assert slave.sent.last(port.clock.monotonic() + 1) == len(line.written)


def test_nothing_is_written_while_the_line_is_full_and_the_rest_when_it_is_not() -> None:
    port = Port()
    slave, line = port.connect()
    slave.pause_writing()
    slave.data_received(encode_report(1200))
    assert (line.written, slave.wanted, slave.send_next(10)) == (b"", 0, None)
    slave.resume_writing()
    assert line.written == frame_head(1200, 50) + port.source.data[200:]


def test_where_a_rate_is_set_the_port_divides_what_is_sent() -> None:
    port = Port()
    port.rate = SendRate(1000, 0.0)
    slave, line = port.connect()
    slave.data_received(encode_report(1100))
    assert (line.written, slave.wanted) == (b"", 150)
    assert port.happened == ["join", "push", "heard 1100"]
    assert slave.send_part(120) == 120
    assert (slave.wanted, slave.feed.following) == (30, 1220)


def test_a_slave_that_cannot_be_fed_is_left(caplog: pytest.LogCaptureFixture) -> None:
    port = Port()
    slave, line = port.connect()
    slave.data_received(encode_report(1251))
    assert line.is_aborted
    assert port.happened == ["join", "leave"]
    assert "behind the end of this log" in caplog.text


def test_a_connection_for_one_stretch_is_not_one_that_follows() -> None:
    port = Port()
    slave, _ = port.connect(msgspec.structs.replace(HELLO, fetches=True))
    slave.data_received(encode_report(1200))
    assert not slave.is_followed
    slave.connection_lost(None)
    assert port.happened == ["join", "heard 1200", "leave"]
