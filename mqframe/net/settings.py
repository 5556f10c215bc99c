"""Limits of connections, the same for servers and clients."""

from __future__ import annotations

from mqframe.core.frame import FRAME_BYTES_MAX
from mqframe.core.settings import at_least, setting, settings, within


@settings("net")
class NetSettings:
    """Limits of connections. Every buffer and table has one."""

    frame_bytes_max: int = setting(
        FRAME_BYTES_MAX,
        doc="longest frame accepted, its length word included, bytes",
        check=within(1024, 1 << 30),
        conf="com.rocketmq.remoting.frameMaxLength",
    )
    idle_seconds: float = setting(
        120.0, doc="a connection that carried no whole frame for so long is closed, s", check=at_least(0.001)
    )
    stalled_seconds: float = setting(
        30.0,
        doc="a peer that does not read what it asked for, for so long, loses its connection, s",
        check=at_least(0.001),
    )
    connect_timeout_seconds: float = setting(
        3.0, doc="longest time to open a connection, s", check=within(0.001, 20)
    )
    unsent_bytes_max: int = setting(
        8 * 1024 * 1024,
        doc="answers and requests waiting to leave on one connection; beyond it the peer is not read from, "
        "and calls are refused, bytes",
        check=at_least(64 * 1024),
    )
    in_flight_requests_max: int = setting(
        65_535,
        doc="requests that one side has sent and the other has not answered: of a client over all its "
        "connections, of a server for each connection, count",
        check=at_least(1),
    )
    in_flight_bytes_max: int = setting(
        256 * 1024 * 1024,
        doc="bodies of those requests, bytes",
        check=at_least(1024),
    )
    busy_poll_microseconds: int = setting(
        0,
        doc="how long a server looks for the next request without sleeping, after one that came alone; 0: "
        "not at all. The servers of the command line take 150 on machines with two or more processors",
        check=within(0, 10_000),
    )
