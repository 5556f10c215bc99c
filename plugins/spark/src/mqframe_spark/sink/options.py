"""Options of the sink, as text from Spark, checked before anything is written."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import attrs

from mqframe.core.errors import MessageError, SettingError
from mqframe.core.messages.checks import check_sendable_topic
from mqframe.core.messages.names import DLQ_PREFIX, RETRY_PREFIX
from mqframe_spark.access import ACCESS_NAMES, OPEN, Access, parse_access
from mqframe_spark.given import Given

SINK_NAMES: Final = (
    "nameserver", "topic", "group", "batchBytes", "compressOverBytes", "inFlightRequests", "idempotenceKeys",
    "ignoreColumns", "exactlyOnce", "commitPath", "failOnDataLoss", *ACCESS_NAMES,
    "checkpointLocation", "queryName",
)  # fmt: skip
"""All options, as they are documented. Their case does not count. The last two are Spark's own."""

BATCH_BYTES: Final = 128 << 10
BATCH_BYTES_MIN: Final = 1 << 10
BATCH_BYTES_MAX: Final = 1 << 20
"""Brokers take batches of 4 MiB where nobody set another limit (maxMessageSize), and count the records that
they make of the messages: up to three times as large as these, when bodies are short."""
IN_FLIGHT_MAX: Final = 64
"""Requests of one task; each has a thread."""


@attrs.frozen
class SinkOptions:
    """How to write.

    `nameserver`: addresses, "host:port;host:port". `topic`: where rows go; empty when the column `topic`
    says. `group`: producer group; empty: none was given. `batch_bytes`: size of one request, bytes;
    `compress_over_bytes`: bodies of this size and above travel alone and packed. `in_flight_requests`: of
    one task. `idempotence_keys`: whether each message gets a key that a repeated task repeats.
    `ignore_columns`: whether columns that only a broker can set are left out. `exactly_once`: half messages
    that the driver's commit ends, `commit_path`: where the record of the commits lives, `fail_on_data_loss`:
    whether messages that were recorded and lost are an error. `checkpoint`, `query_name`: of a stream; the
    second also names a batch that is to be written once. `access`: keys and TLS.
    """

    nameserver: str
    topic: str = ""
    group: str = ""
    batch_bytes: int = BATCH_BYTES
    compress_over_bytes: int = 4096
    in_flight_requests: int = 4
    idempotence_keys: bool = False
    ignore_columns: bool = False
    exactly_once: bool = False
    commit_path: str = ""
    fail_on_data_loss: bool = True
    checkpoint: str = ""
    query_name: str = ""
    access: Access = OPEN


def parse_sink_options(given: Mapping[str, str]) -> SinkOptions:
    """The options in `given`. Raises `SettingError` naming the option and its value.

    `NAMESRV_ADDR` stands in for `nameserver`.
    """
    table = Given(given, SINK_NAMES)
    exactly_once = table.flag("exactlyOnce", default=False)
    commit_path = table.get("commitPath")
    if commit_path is not None and not exactly_once:
        raise SettingError(f"option commitPath = {commit_path!r}: only exactlyOnce = 'true' keeps a record")
    return SinkOptions(
        nameserver=table.nameserver(),
        topic=_topic(table),
        group=table.group("group", ""),
        batch_bytes=_within(table, "batchBytes", BATCH_BYTES, BATCH_BYTES_MIN, BATCH_BYTES_MAX),
        compress_over_bytes=table.number("compressOverBytes") or 4096,
        in_flight_requests=_within(table, "inFlightRequests", 4, 1, IN_FLIGHT_MAX),
        idempotence_keys=table.flag("idempotenceKeys", default=False),
        ignore_columns=table.flag("ignoreColumns", default=False),
        exactly_once=exactly_once,
        commit_path=commit_path or "",
        fail_on_data_loss=table.flag("failOnDataLoss", default=True),
        checkpoint=table.get("checkpointLocation") or "",
        query_name=table.get("queryName") or "",
        access=parse_access(table),
    )


def _topic(table: Given) -> str:
    value = table.get("topic")
    if value is None:
        return ""
    try:
        check_sendable_topic(value)
        if value.startswith((RETRY_PREFIX, DLQ_PREFIX)):
            raise MessageError("the messages there are the broker's to write; no batch may name it")
    except MessageError as problem:
        raise SettingError(f"option topic = {value!r}: {problem}") from None
    return value


def _within(table: Given, name: str, default: int, low: int, high: int) -> int:
    value = table.number(name)
    if value is None:
        return default
    if not low <= value <= high:
        raise SettingError(f"option {name} = {table.get(name)!r}: must be {low} to {high}")
    return value
