"""Options of the source, as text from Spark, checked before anything is read."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Final, NamedTuple

import attrs

from mqframe.core.errors import FixError, MessageError, SettingError
from mqframe.core.filtering.tag_filter import TagFilter
from mqframe.core.messages.names import check_topic
from mqframe_spark.access import ACCESS_NAMES, OPEN, Access, parse_access
from mqframe_spark.given import Given
from mqframe_spark.records.schema import ARROW_SCHEMA
from mqframe_spark.source.bounds import EARLIEST, LATEST, Bound, check_order, parse_bound, parse_time

NAMES: Final = (
    "mode", "nameserver", "path", "topic", "topics", "topicPattern", "tags", "sql", "startingOffsets",
    "endingOffsets", "startingTimestamp", "endingTimestamp", "minPartitions", "maxOffsetsPerTrigger",
    "maxBytesPerTrigger", "columns", "failOnDataLoss", "commitToGroup", "group", *ACCESS_NAMES,
)  # fmt: skip
"""All options, as they are documented. Their case does not count."""

STREAM_ONLY: Final = ("maxOffsetsPerTrigger", "maxBytesPerTrigger", "commitToGroup")
ENDINGS: Final = ("endingOffsets", "endingTimestamp")


class Store(NamedTuple):
    """A store directory, and the name of its broker."""

    broker: str
    path: Path


@attrs.frozen
class SourceOptions:
    """What to read.

    `nameserver`: addresses, "host:port;host:port", of mode broker; `stores`: of mode files. `topics`: names,
    or none when `pattern` says which. `tags`: only messages with one of them; `sql`: only those that an SQL92
    expression over properties chooses, which brokers evaluate. `starting`, `ending`: bounds of
    a batch, and where a new stream begins, or one with the trigger `availableNow` stops. `min_partitions`:
    queues are split until there are so many tasks.
    `columns`: those that rows have. `fail_on_data_loss`: whether messages that are gone are an error.
    `commit_to_group`: consumer group that is told of a stream's progress. `group`: in whose name brokers are
    asked. `access`: keys and TLS that they want. `given`: the options that not every kind of reading
    has, by name in lower case, as they were given.
    """

    nameserver: str = ""
    stores: tuple[Store, ...] = ()
    topics: tuple[str, ...] = ()
    pattern: str = ""
    tags: str = "*"
    sql: str = ""
    starting: Bound = EARLIEST
    ending: Bound = LATEST
    min_partitions: int = 1
    max_offsets_per_trigger: int | None = None
    max_bytes_per_trigger: int | None = None
    columns: tuple[str, ...] = tuple(ARROW_SCHEMA.names)
    fail_on_data_loss: bool = True
    commit_to_group: str = ""
    group: str = "TOOLS_CONSUMER"
    access: Access = OPEN
    given: Mapping[str, str] = {}

    def refuse(self, names: tuple[str, ...], why: str) -> None:
        """Raise `SettingError` when one of the options called `names` was given."""
        for name in names:
            value = self.given.get(name.lower())
            if value is not None:
                raise SettingError(f"option {name} = {value!r}: {why}")

    def check_endless(self) -> None:
        """Raise `SettingError` when an end was given: this is for a stream that goes on and on."""
        self.refuse(ENDINGS, "only a batch, or a stream with the trigger availableNow, has an end")

    def wants(self, topic: str) -> bool:
        """Whether `topic` is one of those to read."""
        return topic in self.topics if self.topics else re.fullmatch(self.pattern, topic) is not None


def parse_options(given: Mapping[str, str]) -> SourceOptions:
    """The options in `given`. Raises `SettingError` naming the option and its value.

    `NAMESRV_ADDR` stands in for `nameserver`.
    """
    table = Given(given, NAMES)
    topics, pattern = _topics(table)
    tags = table.get("tags") or "*"
    try:
        TagFilter(tags)
    except FixError as problem:
        raise SettingError(f"option tags = {tags!r}: {problem}") from None
    nameserver, stores = _where(table)
    starting = _bound(table, "startingOffsets", "startingTimestamp", EARLIEST)
    ending = _bound(table, "endingOffsets", "endingTimestamp", LATEST)
    check_order(starting, ending)
    for bound in (starting, ending):
        _check_topics(bound, topics, pattern)
    return SourceOptions(
        nameserver=nameserver,
        stores=stores,
        topics=topics,
        pattern=pattern,
        tags=tags,
        sql=_sql(table),
        starting=starting,
        ending=ending,
        min_partitions=table.number("minPartitions") or 1,
        max_offsets_per_trigger=table.number("maxOffsetsPerTrigger"),
        max_bytes_per_trigger=table.number("maxBytesPerTrigger"),
        columns=_columns(table),
        fail_on_data_loss=table.flag("failOnDataLoss", default=True),
        commit_to_group=table.group("commitToGroup", ""),
        group=table.group("group", "TOOLS_CONSUMER"),
        access=_access(table, nameserver),
        given={
            name.lower(): value for name in (*STREAM_ONLY, *ENDINGS) if (value := table.get(name)) is not None
        },
    )


def _sql(table: Given) -> str:
    value = table.get("sql")
    if value is None:
        return ""
    table.one_of("sql", "tags")
    if not value.strip():
        raise SettingError(f"option sql = {value!r}: is empty")
    if (table.get("mode") or "").strip().lower() == "files":
        raise SettingError(
            f"option sql = {value!r}: only brokers evaluate it; use .where on properties instead"
        )
    return value


def _where(table: Given) -> tuple[str, tuple[Store, ...]]:
    mode = (table.get("mode") or "broker").strip().lower()
    path = table.get("path")
    if mode == "files":
        if not path:
            raise SettingError("option path is missing; mode = 'files' needs the folder of a store")
        if table.get("commitToGroup") is None:
            table.one_of("path", "nameserver")
            return "", _stores(path)
        return table.nameserver(), _stores(path)
    if mode != "broker":
        raise SettingError(f"option mode = {table.get('mode')!r}: must be broker or files")
    if path is not None:
        raise SettingError(f"option path = {path!r}: only mode = 'files' reads a folder")
    return table.nameserver(), ()


def _access(table: Given, nameserver: str) -> Access:
    access = parse_access(table)
    if not nameserver:
        for name in ACCESS_NAMES:
            if table.get(name) is not None:
                raise SettingError(f"option {name}: only brokers ask for it; mode = 'files' reads a folder")
    return access


def _stores(text: str) -> tuple[Store, ...]:
    stores = []
    for part in filter(None, (part.strip() for part in text.split(","))):
        name, found, path = part.rpartition("=")
        folder = Path(path.strip()).expanduser().absolute()
        if not (folder / "commitlog").is_dir():
            raise SettingError(f"option path = {part!r}: there is no store: the folder holds no commitlog")
        stores.append(Store(name.strip() if found else folder.name, folder))
    names = [store.broker for store in stores]
    if not stores or len(set(names)) < len(names):
        raise SettingError(
            f"option path = {text!r}: write folders as name=folder,name=folder with different names"
        )
    return tuple(stores)


def _topics(table: Given) -> tuple[tuple[str, ...], str]:
    which = table.one_of("topic", "topics", "topicPattern")
    if which is None:
        raise SettingError('option topic is missing; name one, as in .option("topic", "orders")')
    value = table.get(which) or ""
    if which == "topicPattern":
        try:
            re.compile(value)
        except re.error as problem:
            raise SettingError(f"option topicPattern = {value!r}: {problem}") from None
        return (), value
    names = [value] if which == "topic" else [name.strip() for name in value.split(",")]
    for name in names:
        try:
            check_topic(name)
        except MessageError as problem:
            raise SettingError(f"option {which} = {value!r}: {problem}") from None
    return tuple(sorted(set(names))), ""


def _bound(table: Given, offsets: str, timestamp: str, default: Bound) -> Bound:
    which = table.one_of(offsets, timestamp)
    if which is None:
        return default
    value = table.get(which) or ""
    try:
        bound = parse_bound(value) if which == offsets else parse_time(value)
        return attrs.evolve(bound, option=f"{which} = {value!r}")
    except SettingError as problem:
        raise SettingError(f"option {which} = {value!r}: {problem}") from None


def _check_topics(bound: Bound, topics: tuple[str, ...], pattern: str) -> None:
    for queue in bound.offsets:
        wanted = queue.topic in topics if topics else re.fullmatch(pattern, queue.topic)
        if not wanted:
            raise SettingError(f"option {bound.option}: topic {queue.topic} is not one of those to read")


def _columns(table: Given) -> tuple[str, ...]:
    value = table.get("columns")
    if value is None:
        return tuple(ARROW_SCHEMA.names)
    names = tuple(name.strip() for name in value.split(","))
    unknown = [name for name in names if name not in ARROW_SCHEMA.names]
    if unknown or len(set(names)) < len(names):
        raise SettingError(f"option columns = {value!r}: name each once, of {', '.join(ARROW_SCHEMA.names)}")
    return names
