"""Options of the sink, as text from Spark, checked before anything is written."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from mqframe.core.config.field_types import convert
from mqframe.core.config.settings import at_least, encodable, setting, settings, within
from mqframe.core.errors import SettingError
from mqframe.core.messages.checks import check_sendable_topic
from mqframe.core.messages.names import DLQ_PREFIX, RETRY_PREFIX
from mqframe_spark.access import OPEN, Access, parse_access
from mqframe_spark.given import Given, group_name, option_names
from mqframe_spark.object_store_options import NONE, ObjectStoreOptions, parse_object_store_options

BATCH_BYTES: Final = 128 << 10
BATCH_BYTES_MIN: Final = 1 << 10
BATCH_BYTES_MAX: Final = 1 << 20
"""Brokers take batches of 4 MiB where nobody set another limit (maxMessageSize), and count the records that
they make of the messages: up to three times as large as these, when bodies are short."""
IN_FLIGHT_MAX: Final = 64
"""Requests of one task; each has a thread."""


def _topic(name: str) -> str:
    check_sendable_topic(name)
    if name.startswith((RETRY_PREFIX, DLQ_PREFIX)):
        raise ValueError("the messages there are the broker's to write; no batch may name it")
    return name


def _batch_bytes(text: str) -> int:
    """Checked here only: code may ask for less."""
    size: int = convert(text, int)
    if problem := within(BATCH_BYTES_MIN, BATCH_BYTES_MAX)(size):
        raise ValueError(problem)
    return size


@settings("sink", kw_only=False)
class SinkOptions:
    """How to write. `access`: keys and TLS; `store`: how the object store of the record is reached."""

    nameserver: str = setting(
        doc="name servers, `host:port;host:port`; by default the variable `NAMESRV_ADDR`", check=encodable
    )
    topic: str = setting(
        "",
        doc="where all rows go; it must be there. Without it the column `topic` says where each goes",
        from_conf=_topic,
    )
    group: str = setting(
        "",
        doc="the producer group, by default `SPARK_SINK`; with `exactlyOnce` one made from the commit path",
        from_conf=group_name,
    )
    batch_bytes: int = setting(
        BATCH_BYTES,
        doc="size of one request, bytes, 1 KiB to 1 MiB",
        from_conf=_batch_bytes,
    )
    compress_over_bytes: int = setting(
        4096, doc="bodies of this size and above, bytes, travel alone and packed", check=at_least(1)
    )
    in_flight_requests: int = setting(
        4,
        doc=f"requests of one task under way at once, at most {IN_FLIGHT_MAX}",
        check=within(1, IN_FLIGHT_MAX),
    )
    idempotence_keys: bool = setting(
        False,
        doc="whether each message gets a property `IDEMPOTENCE_KEY` that a repeated task repeats; the column "
        "`idempotence_key` counts before it",
    )
    ignore_columns: bool = setting(
        False,
        doc="whether columns and properties that only the system can set are left out, and the option "
        "`topic` counts before the column",
    )
    exactly_once: bool = setting(
        False,
        doc="rows are half messages, which no consumer sees, until the driver has recorded which of them "
        "count",
    )
    commit_path: str = setting(
        "",
        doc="with `exactlyOnce`: the folder of that record, which outlives the driver, by default "
        "`mqframe` in the checkpoint; a batch must name one",
    )
    fail_on_data_loss: bool = setting(
        True,
        doc="with `exactlyOnce`: whether recorded messages that brokers gave up are an error, or only "
        "reported",
    )
    checkpoint_location: str = setting("", doc="Spark's own, of a stream")
    query_name: str = setting(
        "",
        doc="Spark's own, of a stream; with `exactlyOnce` a batch of this name is written once, however "
        "often it is submitted",
    )
    access: Access = OPEN
    store: ObjectStoreOptions = NONE


SINK_NAMES: Final = option_names(SinkOptions, Access)
"""All options, as they are documented. Their case does not count."""


def parse_sink_options(given: Mapping[str, str]) -> SinkOptions:
    """The options in `given`. Raises `SettingError` naming the option and its value.

    `NAMESRV_ADDR` stands in for `nameserver`.
    """
    store, rest = parse_object_store_options(given)
    table = Given(rest, SINK_NAMES, "the sink")
    values = {**table.read(SinkOptions), "nameserver": table.nameserver()}
    path = values.get("commit_path")
    if path is not None and not values.get("exactly_once"):
        raise SettingError(f"option commitPath = {path!r}: only exactlyOnce = 'true' keeps a record")
    if store != NONE and not values.get("exactly_once"):
        names = ", ".join(store.raw())
        raise SettingError(f"options {names}: only exactlyOnce = 'true' keeps a record, which they are for")
    return SinkOptions(**values, access=parse_access(table), store=store)
