"""Answers brokers that ask how half messages of an exactly-once write ended, until its driver is gone.

    python -m mqframe_spark.exact.check_back_answers nameserver=HOST:9876 topic=orders commitPath=/data/c

Options are those of the sink, as name=value; with `-` in their place they are read as JSON from standard
input, which keeps secrets off the command line. Drivers start this by themselves (`answering.py`); by hand it
serves where a driver will not be back in time. Ends with SIGTERM or SIGINT.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

from mqframe import Admin, BatchTransactionProducer
from mqframe.core.errors import MqframeError, RetryError, SettingError
from mqframe.log import get_logger
from mqframe_spark.exact.answering import lookup, process
from mqframe_spark.exact.answers import Answers
from mqframe_spark.exact.place import STREAM, CommitPlace, group_of, stream_place
from mqframe_spark.sink.options import SinkOptions, parse_sink_options

log = get_logger("spark")

LOOK_SECONDS: Final = 1.0
"""How often it looks whether the driver lives, and which topics there are."""
UNUSED_SECONDS: Final = 24 * 3600.0
"""It ends when nothing was written for so long; the next batch starts it anew."""


class Limit(NamedTuple):
    """When a broker gives up an open half: `checks` times asked, `seconds` in all. `broker`: its name."""

    broker: str
    checks: int
    seconds: float


class Serving(NamedTuple):
    """What to serve. `anchor`: pid and start of the driver; `topics`: a file that names topics."""

    options: SinkOptions
    root: str
    group: str
    anchor: tuple[int, str] | None = None
    topics: str = ""


def parse(arguments: Sequence[str], standard_input: str = "") -> Serving:
    """What the command line, or JSON, asks for. Raises `SettingError`."""
    given: dict[str, Any] = {}
    if list(arguments) == ["-"]:
        try:
            given = json.loads(standard_input)
        except ValueError as problem:
            raise SettingError(f"standard input is no JSON: {problem}") from None
    else:
        for word in arguments:
            name, equals, value = word.partition("=")
            if not equals:
                raise SettingError(f"argument {word!r}: must be an option of the sink, name=value, or -")
            given[name] = value
    anchor, topics = given.pop("anchor", None), given.pop("topics", "")
    options = parse_sink_options({"exactlyOnce": "true", **given})
    place = stream_place(options)
    return Serving(
        options,
        place.root,
        group_of(options, place),
        None if anchor is None else (int(anchor[0]), str(anchor[1])),
        topics,
    )


def limits(options: SinkOptions, topics: Sequence[str]) -> list[Limit]:
    """The limits of the brokers that have `topics`. Raises what calls to brokers do."""
    found: dict[str, Limit] = {}
    with Admin(nameserver=options.nameserver, **options.access.client_arguments()) as admin:
        for topic in topics:
            for data in admin.topics.route(topic).broker_datas:
                address = data.broker_addrs.get(0)
                if address and data.broker_name not in found:
                    config = admin.brokers.config(address)
                    found[data.broker_name] = limit_of(data.broker_name, config)
    return sorted(found.values())


def limit_of(broker: str, config: Mapping[str, str]) -> Limit:
    """The limit of the broker called `broker`, by its settings; what it does not tell is as by default."""
    checks = int(config.get("transactionCheckMax", "15"))
    interval_ms = int(config.get("transactionCheckInterval", "30000"))
    timeout_ms = int(config.get("transactionTimeOut", "6000"))
    return Limit(broker, checks, (timeout_ms + checks * interval_ms) / 1000)


class CheckBackServer:
    """Answers until `stopping` is set, the anchor is gone, or nothing was written for long."""

    def __init__(self, serving: Serving, stopping: threading.Event) -> None:
        self._serving = serving
        self._stopping = stopping
        self._known: set[str] = set()
        self._record = CommitPlace(serving.root, STREAM, serving.options.store).record()

    def run(self) -> None:
        """Serve."""
        serving = self._serving
        producer = BatchTransactionProducer(
            serving.group,
            check=Answers(serving.root, lookup(serving.options), serving.options.store).check,
            nameserver=serving.options.nameserver,
            **serving.options.access.client_arguments(),
        )
        with producer:
            while not self._over():
                self._get_known(producer)
                self._stopping.wait(LOOK_SECONDS)
        if serving.anchor is not None and not self._has_driver():
            Path(serving.topics).unlink(missing_ok=True)  # nobody looks for it again

    def _over(self) -> bool:
        if self._stopping.is_set():
            return True
        if not self._has_driver():
            return True
        file = self._serving.topics
        return bool(file) and time.time() - os.stat(file).st_mtime > UNUSED_SECONDS

    def _has_driver(self) -> bool:
        anchor = self._serving.anchor
        if anchor is None:
            return True
        found = process(anchor[0])
        return found is not None and found.started == anchor[1]

    def _topics(self) -> set[str]:
        serving = self._serving
        if serving.topics:
            return set(Path(serving.topics).read_text().split())
        topics = {serving.options.topic} if serving.options.topic else set()
        try:
            record = self._record.read()
        except RetryError as problem:
            log.warning("commit record cannot be read", root=serving.root, reason=str(problem))
            return topics
        return topics | set(record.topics if record else ())

    def _get_known(self, producer: BatchTransactionProducer) -> None:
        """Have the brokers of all topics know this process, and say what their limits are."""
        fresh = self._topics() - self._known
        for topic in sorted(fresh):
            try:
                producer.queues(topic)
                self._say(limits(self._serving.options, [topic]))
            except MqframeError as problem:
                log.warning("brokers do not know yet who answers", topic=topic, reason=str(problem))
            else:
                self._known.add(topic)

    def _say(self, found: Sequence[Limit]) -> None:
        for limit in found:
            log.warning(
                "exactly once: when the driver dies, one must be back before the broker gives up",
                broker=limit.broker, checks=limit.checks, minutes=round(limit.seconds / 60, 1),
                commitPath=self._serving.root,
            )  # fmt: skip


def main() -> int:
    """The command."""
    stopping = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stopping.set())
    try:
        arguments = sys.argv[1:]
        serving = parse(arguments, sys.stdin.read() if arguments == ["-"] else "")
        CheckBackServer(serving, stopping).run()
    except MqframeError as problem:
        print(f"mqframe: {problem}", file=sys.stderr)
        return 2
    finally:
        log.info("no more answers")
    return 0


if __name__ == "__main__":
    sys.exit(main())
