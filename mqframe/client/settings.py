"""Settings of clients."""

from __future__ import annotations

from typing import Final

from mqframe.core.config.settings import at_least, encodable, one_of, setting, settings, within
from mqframe.core.messages.checks import plain_bytes_max
from mqframe.core.messages.names import DEFAULT_TOPIC

PULL_ANSWER_SECONDS: Final = 15.0
"""What the answer to a plain pull may take beyond the time that the broker was allowed to wait, s."""


@settings("client")
class ClientSettings:
    """What every client needs: whom to ask, how it is called, how often it looks."""

    nameserver: str = setting(
        "", doc='name servers, "host:port;host:port"; empty: the variable NAMESRV_ADDR (before a file)'
    )
    instance_name: str = setting(
        "",
        doc="second half of the client id; empty: process id and start time, unique for each client",
        check=encodable,
    )
    client_ip: str = setting(
        "",
        doc="first half of the client id; empty: the address from which the name server is reached",
        check=encodable,
    )
    unit_name: str = setting("", doc="appended to the client id", check=encodable)
    unit_mode: bool = setting(False, doc="heartbeats and sends say that the client belongs to a unit")
    namespace: str = setting(
        "", doc="goes before the names of topics and groups at brokers: namespace%topic; empty: nothing does"
    )
    route_poll_seconds: float = setting(
        30.0, doc="how often routes are asked for again, s", check=at_least(0.01)
    )
    heartbeat_seconds: float = setting(
        30.0, doc="how often brokers are notified that the client lives, s", check=at_least(0.01)
    )
    persist_offsets_seconds: float = setting(
        5.0, doc="how often consumers store how far they are, s", check=at_least(0.01)
    )
    request_timeout_seconds: float = setting(
        3.0, doc="longest wait for an answer to anything but a send or a pull, s", check=at_least(0.001)
    )
    patience_seconds: float = setting(
        3.0,
        doc="longest time for which pops, acknowledgements and the like wait for brokers that are busy or"
        " restart, s; 0: the first failure is an error. Sends wait for producer.send_timeout_seconds",
        check=at_least(0),
    )
    unpacked_bytes_max: int = setting(
        64 * 1024 * 1024,
        doc="most bytes that the packed body of a received message may unpack to; a larger one is an error of"
        " its message",
        check=at_least(1),
    )
    check_body_crc: bool = setting(
        True,
        doc="hold the body of a received message against the CRC in its record; a wrong one is an error of"
        " its message",
    )
    vip_channel: bool = setting(False, doc="send to the broker's port - 2, where it serves no pulls")
    operator_port: int = setting(
        0,
        doc="port at which administration clients reach brokers that have one for operators "
        "(broker.operator_port); 0: the one that name servers tell",
        check=within(0, 65535),
    )


@settings("producer")
class ProducerSettings:
    """How messages are sent."""

    send_timeout_seconds: float = setting(
        3.0, doc="longest time for one send, its retries included, s", check=at_least(0.001)
    )
    reply_timeout_seconds: float = setting(
        3.0, doc="longest time for one request with its reply, s", check=at_least(0.001)
    )
    try_timeout_seconds: float = setting(
        0.0,
        doc="longest time for one try that others may follow, s; 0: no limit of its own",
        check=at_least(0),
    )
    retries_sync: int = setting(
        2,
        doc="tries after the first, of a send whose answer is awaited; those that stored nothing for certain"
        " are not counted",
        check=within(0, 100),
    )
    retries_async: int = setting(
        2, doc="tries after the first, of submitted messages, counted likewise", check=within(0, 100)
    )
    retry_codes: tuple[int, ...] = setting(
        (),
        doc="answer codes that an awaited send is tried again on, besides 1, 2, 14, 16, 17, 204, 205, 1500",
    )
    retry_another_broker_when_not_store_ok: bool = setting(
        False, doc="try again when the broker stored the message but its flush or its replica was late"
    )
    body_bytes_max: int = setting(
        4 * 1024 * 1024,
        doc="longest body of a message, once it is packed if it is, and of a batch, bytes",
        check=at_least(1),
    )
    compress_over_bytes: int = setting(
        4096, doc="bodies of this size and above are packed, bytes", check=at_least(1)
    )
    compression: str = setting(
        "zlib", doc="how bodies are packed: zlib, lz4 or zstd", check=one_of("zlib", "lz4", "zstd")
    )
    compression_level: int = setting(5, doc="0 (fast) to 9 (small)", check=within(0, 9))
    default_topic: str = setting(
        DEFAULT_TOPIC, doc="new topics are made after this one where brokers allow it"
    )
    default_topic_queues: int = setting(
        4, doc="queues of a new topic on each broker, at most", check=within(1, 65536)
    )
    latency_faults: bool = setting(False, doc="avoid brokers for a while that were slow or failed")
    in_flight_messages_max: int = setting(
        10_000, doc="awaited sends that may wait for their answers at once, count", check=at_least(1)
    )
    in_flight_bytes_max: int = setting(100 * 1024 * 1024, doc="bodies of these, bytes", check=at_least(1))
    linger_seconds: float = setting(
        0.002,
        doc="longest time that a submitted message waits for others of its queue, s",
        check=within(0, 30),
    )
    batch_messages_max: int = setting(
        1024, doc="messages in one batch request made of submitted ones, count", check=within(1, 32767)
    )
    batch_bytes_max: int = setting(
        128 * 1024, doc="size of such a batch, bytes; a message above it goes alone", check=at_least(256)
    )
    submit_wait_seconds: float = setting(
        60.0, doc="longest time that `submit` waits for room, s", check=at_least(0)
    )
    exit_seconds: float = setting(
        5.0,
        doc="longest time that the end of the process waits for what was submitted to be sent, s",
        check=at_least(0),
    )
    waiting_messages_max: int = setting(
        50_000, doc="submitted messages without result; `submit` waits beyond it, count", check=at_least(1)
    )
    waiting_bytes_max: int = setting(64 * 1024 * 1024, doc="bodies of these, bytes", check=at_least(1))

    @property
    def plain_bytes_max(self) -> int:
        """Longest body that a message may have before it is packed, bytes."""
        return plain_bytes_max(self.body_bytes_max, self.compress_over_bytes)
