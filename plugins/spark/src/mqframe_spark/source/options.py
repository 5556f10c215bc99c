"""Options of the source, as text from Spark, checked before anything is read."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple

import attrs

from mqframe.core.config.settings import at_least, encodable, setting, settings, within
from mqframe.core.errors import SettingError
from mqframe.core.filtering.tag_filter import TagFilter
from mqframe.core.messages.names import check_topic
from mqframe_spark.access import ACCESS_NAMES, OPEN, Access, parse_access
from mqframe_spark.given import Given, group_name, if_any, option_names, options_of
from mqframe_spark.records.schema import ARROW_SCHEMA
from mqframe_spark.retrying import growing
from mqframe_spark.source.assigning import Assigned, parse_assigned
from mqframe_spark.source.bounds import EARLIEST, LATEST, Bound, check_order, parse_bound, parse_time
from mqframe_spark.zones import OPTION as ZONE
from mqframe_spark.zones import TIMES, in_zone, zone_of

STREAM_ONLY: Final = (
    "maxOffsetsPerTrigger", "maxBytesPerTrigger", "minOffsetsPerTrigger", "maxTriggerDelay", "commitToGroup",
)  # fmt: skip
ENDINGS: Final = ("endingOffsets", "endingTimestamp")
RETRIES_MAX: Final = 100
_DURATION: Final = re.compile(r"(\d{1,9})\s*(ms|s|m|min|h|d)")
_UNITS_MS: Final = {"ms": 1, "s": 1000, "m": 60_000, "min": 60_000, "h": 3_600_000, "d": 86_400_000}


class Store(NamedTuple):
    """A store directory, and the name of its broker."""

    broker: str
    path: Path


def _folders(text: str) -> tuple[Store, ...]:
    stores = []
    for part in filter(None, (part.strip() for part in text.split(","))):
        name, found, path = part.rpartition("=")
        folder = Path(path.strip()).expanduser().absolute()
        if not (folder / "commitlog").is_dir():
            raise ValueError(f"there is no store in {folder}: the folder holds no commitlog")
        stores.append(Store(name.strip() if found else folder.name, folder))
    names = [store.broker for store in stores]
    if not stores or len(set(names)) < len(names):
        raise ValueError("write folders as name=folder,name=folder with different names")
    return tuple(stores)


def _topic(text: str) -> str:
    check_topic(text)
    return text


def _topics(text: str) -> tuple[str, ...]:
    return tuple(sorted({_topic(name.strip()) for name in text.split(",")}))


def _pattern(text: str) -> str:
    try:
        re.compile(text)
    except re.error as problem:
        raise ValueError(str(problem)) from None
    return text


def _expression(text: str) -> str:
    if not text.strip():
        raise ValueError("is empty")
    return text


def _tags(text: str) -> str:
    TagFilter(text or "*")
    return text or "*"


def _columns(text: str) -> tuple[str, ...]:
    names = tuple(name.strip() for name in text.split(","))
    unknown = [name for name in names if name not in ARROW_SCHEMA.names]
    if unknown or len(set(names)) < len(names):
        raise ValueError(f"name each once, of {', '.join(ARROW_SCHEMA.names)}")
    return names


def _zone(text: str) -> str:
    zone_of(text)
    return text


def _duration(text: str) -> float:
    """Seconds."""
    found = _DURATION.fullmatch(text.strip().lower())
    if found is None:
        raise ValueError("must be a number with a unit: ms, s, m, h or d")
    return int(found[1]) * _UNITS_MS[found[2]] / 1000


_OFFSETS: Final = (
    "`earliest`, `latest`, `group:NAME` (where that consumer group is), or JSON: "
    '`{"orders": {"broker-a/0": 23, "broker-a/1": -2}}`, where -2 is the oldest and -1 the end; queues that '
    "are left out are read whole"
)
_TIME: Final = (
    "milliseconds since 1970 or `2026-11-21T10:00:00Z` (see `timeZone`), or JSON with such a time by queue: "
    '`{"orders": {"broker-a/0": 1700000000000}}`; queues that are left out are read whole'
)


@settings("source", kw_only=False)
class SourceOptions:
    """What to read.

    `access`: keys and TLS that servers want. `given`: the options that not every kind of reading has, by name
    in lower case, as they were given.
    """

    nameserver: str = setting(
        "", doc="name servers, `host:port;host:port`; by default the variable `NAMESRV_ADDR`", check=encodable
    )
    mode: Literal["broker", "files"] = setting(
        "broker",
        doc="`broker`: pulled from brokers; `files`: straight from store folders, no broker is asked",
    )
    path: tuple[Store, ...] = setting(
        (),
        doc="in mode `files`: the folder of a store, or several as `name=folder,name=folder`; the name, by "
        "default that of the folder, stands for the broker; tasks read the same path on every machine",
        from_conf=_folders,
    )
    topic: str = setting("", doc="the topic; this or one of the next three must be given", from_conf=_topic)
    topics: tuple[str, ...] = setting((), doc="several topics, with commas between", from_conf=_topics)
    topic_pattern: str = setting(
        "",
        doc="a regular expression for whole names; topics of the system, retries and dead letters are "
        "left out",
        from_conf=_pattern,
    )
    assign: Assigned | None = setting(
        None,
        doc='only these queues: `{"orders": ["broker-a/0", "broker-b/3"]}`, or with where reading begins, '
        'instead of `startingOffsets`: `{"orders": {"broker-a/0": 23, "broker-a/1": -2}}`; a queue that is '
        "not there is refused",
        from_conf=parse_assigned,
    )
    tags: str = setting("*", doc="only messages with one of these tags, `paid || refunded`", from_conf=_tags)
    sql: str = setting(
        "",
        doc="only messages that an SQL92 expression over properties chooses; brokers evaluate it; not with "
        "`tags`",
        from_conf=_expression,
    )
    starting_offsets: Bound | None = setting(
        None,
        doc=f"`earliest` by default; {_OFFSETS}. A stream heeds it only without a checkpoint",
        from_conf=parse_bound,
    )
    ending_offsets: Bound | None = setting(
        None,
        doc="`latest` by default; as `startingOffsets`. A stream takes it only with the trigger "
        "`availableNow`",
        from_conf=parse_bound,
    )
    starting_timestamp: Bound | None = setting(
        None,
        doc=f"instead of `startingOffsets`: {_TIME}; the first message stored then or later",
        from_conf=parse_time,
    )
    ending_timestamp: Bound | None = setting(
        None,
        doc="instead of `endingOffsets`, as `startingTimestamp`; that message is not read",
        from_conf=parse_time,
    )
    time_zone: str = setting(
        "",
        doc="zone of times that name none, as `Europe/Berlin`; without it these are refused, since no source"
        " sees the zone of its session (jobs and commands give it)",
        from_conf=_zone,
    )
    min_partitions: int = setting(
        1,
        doc="queues are split until there are so many tasks, where they hold as many messages",
        check=at_least(1),
    )
    max_records_per_partition: int = setting(
        1_000_000,
        doc="messages that one task reads at most; queues that hold more are split",
        check=at_least(1),
    )
    max_offsets_per_trigger: int | None = setting(
        None,
        doc="messages of one micro-batch at most, shared by the queues in proportion to what waits in each; "
        "streams only",
        check=if_any(at_least(1)),
    )
    max_bytes_per_trigger: int | None = setting(
        None,
        doc="bytes of one micro-batch, about; both limits may be given; streams only",
        check=if_any(at_least(1)),
    )
    min_offsets_per_trigger: int | None = setting(
        None,
        doc="a micro-batch waits until so many messages do; streams only, and without effect with "
        "the trigger `availableNow`",
        check=if_any(at_least(1)),
    )
    max_trigger_delay: float = setting(
        900.0,
        doc="with `minOffsetsPerTrigger`: how long a micro-batch waits at most, as `500ms`, `30s`, `15m` or "
        "`2h`; the default is in seconds",
        from_conf=_duration,
    )
    columns: tuple[str, ...] = setting(
        tuple(ARROW_SCHEMA.names),
        doc="names, with commas between, by default all: what is not asked for is not even looked for",
        from_conf=_columns,
    )
    push_filters: bool = setting(
        False,
        doc="whether filters of a batch narrow what is read, where Spark's setting "
        "`spark.sql.python.filterPushdown.enabled` is on. Every use of such a DataFrame then gives the "
        "rows of the first: load one for each use",
    )
    fail_on_data_loss: bool = setting(
        True,
        doc="whether messages that are gone are an error; with `false` they are skipped, and a line on "
        "standard error says which",
    )
    commit_to_group: str = setting(
        "",
        doc="a consumer group whose offsets are committed as a stream goes on, never back; in mode `files` "
        "with `nameserver`; streams only",
        from_conf=group_name,
    )
    group: str = setting(
        "TOOLS_CONSUMER",
        doc="the consumer group in whose name brokers are asked; nothing is committed for it",
        from_conf=group_name,
    )
    retries: int = setting(
        4,
        doc="how often brokers and name servers are asked again that do not answer; a task and a planned "
        "batch fail after the last",
        check=within(0, RETRIES_MAX),
    )
    retry_interval_ms: int = setting(
        50,
        doc="pause before the first of these, ms; each next one is four times as long, but 2 s at most, or "
        "this",
        check=within(1, 3_600_000),
    )
    access: Access = OPEN
    given: Mapping[str, str] = {}

    @property
    def starting(self) -> Bound:
        """The first of a batch, and where a new stream begins."""
        assigned = self.assign.starting if self.assign else None
        return self.starting_offsets or self.starting_timestamp or assigned or EARLIEST

    @property
    def ending(self) -> Bound:
        """The end of a batch, and where a stream with the trigger `availableNow` stops."""
        return self.ending_offsets or self.ending_timestamp or LATEST

    @property
    def pauses(self) -> tuple[float, ...]:
        """Waited before each call that is made again, s."""
        return growing(self.retry_interval_ms / 1000, self.retries)

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
        return topic in self.topics if self.topics else re.fullmatch(self.topic_pattern, topic) is not None


NAMES: Final = option_names(SourceOptions, Access)
"""All options, as they are documented. Their case does not count."""


def parse_options(given: Mapping[str, str]) -> SourceOptions:
    """The options in `given`. Raises `SettingError` naming the option and its value.

    `NAMESRV_ADDR` stands in for `nameserver`.
    """
    table = Given(given, NAMES, "the source")
    for names in (
        ("topic", "topics", "topicPattern", "assign"),
        ("startingOffsets", "startingTimestamp"),
        ("endingOffsets", "endingTimestamp"),
        ("sql", "tags"),
    ):
        table.one_of(*names)
    if (table.get("mode") or "broker").strip().lower() == "broker" and table.get("path") is not None:
        raise SettingError(f"option path = {table.get('path')!r}: only mode = 'files' reads a folder")
    if zone := table.get(ZONE):
        table.change(TIMES, partial(in_zone, zone=zone_of(zone)))
    values = table.read(SourceOptions)
    for name, field in options_of(SourceOptions):
        if isinstance(values.get(field.name), Bound | Assigned):
            values[field.name] = attrs.evolve(values[field.name], option=f"{name} = {table.get(name)!r}")
    if values.get("topic"):
        values["topics"] = (values["topic"],)
    elif values.get("assign"):
        values["topics"] = values["assign"].topics
    options = SourceOptions(
        **{**values, "nameserver": _nameserver(table, values)},
        access=parse_access(table),
        given={
            name.lower(): value for name in (*STREAM_ONLY, *ENDINGS) if (value := table.get(name)) is not None
        },
    )
    _check(options, table)
    return options


def _nameserver(table: Given, values: Mapping[str, Any]) -> str:
    """Addresses of name servers; empty where nobody asks one."""
    if values.get("mode") != "files" or "commit_to_group" in values:
        return table.nameserver()
    table.one_of("path", "nameserver")
    return ""


def _check(options: SourceOptions, table: Given) -> None:
    """Raise `SettingError` for options that do not go together."""
    files = options.mode == "files"
    if files and not options.path:
        raise SettingError("option path is missing; mode = 'files' needs the folder of a store")
    if options.sql and files:
        raise SettingError(
            f"option sql = {options.sql!r}: only brokers evaluate it; use .where on properties instead"
        )
    if not options.topics and table.get("topicPattern") is None:
        raise SettingError('option topic is missing; name one, as in .option("topic", "orders")')
    if not options.nameserver:
        for name in ACCESS_NAMES:
            if table.get(name) is not None:
                raise SettingError(f"option {name}: only brokers ask for it; mode = 'files' reads a folder")
    least, most = options.min_offsets_per_trigger, options.max_offsets_per_trigger
    if least is None and table.get("maxTriggerDelay") is not None:
        raise SettingError(
            f"option maxTriggerDelay = {table.get('maxTriggerDelay')!r}: needs option minOffsetsPerTrigger, "
            "which is missing"
        )
    if least is not None and most is not None and least > most:
        raise SettingError(
            f"options minOffsetsPerTrigger = '{least}' and maxOffsetsPerTrigger = '{most}' contradict each "
            "other: the first is larger"
        )
    assigned = options.assign.starting if options.assign else None
    if assigned is not None and (other := options.starting_offsets or options.starting_timestamp):
        raise SettingError(
            f"options {assigned.option} and {other.option} contradict each other: both say where reading "
            "begins; give queues without offsets, or leave out the second"
        )
    check_order(options.starting, options.ending)
    for bound in (options.starting, options.ending):
        for queue in {**bound.offsets, **bound.times}:
            what = f"option {bound.option}: topic {queue.topic}"
            if not options.wants(queue.topic):
                raise SettingError(f"{what} is not one of those to read")
            if options.assign is not None and queue not in options.assign.queues:
                name = f"{queue.broker_name}/{queue.queue_id}"
                raise SettingError(f"{what}, queue {name} is not one of those that option assign names")
