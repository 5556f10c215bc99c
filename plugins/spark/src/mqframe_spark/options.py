"""Options of the source, as text from Spark, checked before anything is read."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Final

import attrs

from mqframe.core.errors import MessageError, SettingError
from mqframe.core.name_servers import parse_addresses
from mqframe.core.topics import check_group, check_topic

EARLIEST: Final = "earliest"
LATEST: Final = "latest"


@attrs.frozen
class SourceOptions:
    """What to read.

    `nameserver`: addresses, "host:port;host:port"; `topic`: its name; `starting_offsets`: where a new stream
    begins; `max_offsets_per_trigger`: most messages of one micro-batch; `group`: the consumer group in whose
    name brokers are asked, which must be allowed to read (nothing is committed to it).
    """

    nameserver: str
    topic: str
    starting_offsets: str = EARLIEST
    max_offsets_per_trigger: int | None = None
    group: str = "TOOLS_CONSUMER"


_NAMES: Final = {
    name.lower(): name for name in ("nameserver", "topic", "startingOffsets", "maxOffsetsPerTrigger", "group")
}


def parse_options(given: Mapping[str, str]) -> SourceOptions:
    """The options in `given`, whose names count without regard to case.

    Raises `SettingError` naming the option and its value. `NAMESRV_ADDR` stands in for `nameserver`.
    """
    values = {name.lower(): value for name, value in given.items()}
    unknown = sorted(set(values) - set(_NAMES))
    if unknown:
        shown = ", ".join(f"{name} = {values[name]!r}" for name in unknown)
        raise SettingError(f"unknown option {shown}; options of mqframe: {', '.join(_NAMES.values())}")
    options = SourceOptions(_nameserver(values), _topic(values))
    starting = values.get("startingoffsets")
    if starting is not None:
        options = attrs.evolve(options, starting_offsets=_starting(starting))
    limit = values.get("maxoffsetspertrigger")
    if limit is not None:
        options = attrs.evolve(options, max_offsets_per_trigger=_limit(limit))
    group = values.get("group")
    if group is not None:
        options = attrs.evolve(options, group=_group(group))
    return options


def _nameserver(values: Mapping[str, str]) -> str:
    text = values.get("nameserver") or os.environ.get("NAMESRV_ADDR", "")
    try:
        return ";".join(parse_addresses(text))
    except SettingError as problem:
        raise SettingError(f"option nameserver = {text!r}: {problem}") from None


def _topic(values: Mapping[str, str]) -> str:
    topic = values.get("topic")
    if topic is None:
        raise SettingError('option topic is missing; name one, as in .option("topic", "orders")')
    try:
        check_topic(topic)
    except MessageError as problem:
        raise SettingError(f"option topic = {topic!r}: {problem}") from None
    return topic


def _starting(value: str) -> str:
    word = value.strip().lower()
    if word not in (EARLIEST, LATEST):
        raise SettingError(f"option startingOffsets = {value!r}: must be earliest or latest")
    return word


def _limit(value: str) -> int:
    if not value.strip().isdecimal() or int(value) == 0:
        raise SettingError(f"option maxOffsetsPerTrigger = {value!r}: must be a whole number above 0")
    return int(value)


def _group(value: str) -> str:
    try:
        check_group(value)
    except MessageError as problem:
        raise SettingError(f"option group = {value!r}: {problem}") from None
    return value
