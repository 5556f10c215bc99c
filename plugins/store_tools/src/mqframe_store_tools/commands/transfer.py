"""`mqframe store export` and `import`: messages of a topic to a file, and from there to brokers."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from itertools import groupby
from pathlib import Path
from typing import IO, TYPE_CHECKING, Annotated, Any, Final

import typer
from mqframe_cli.extension import Json, NameServer, access, is_standard_output, output_file, show_one

from mqframe.core.errors import MessageError, MqframeError, SettingError

if TYPE_CHECKING:
    from mqframe import Message, MessageQueue, Producer

_BATCH_MESSAGES: Final = 64
_BATCH_BYTES: Final = 1 << 19


def export(
    directory: Annotated[
        Path, typer.Argument(help="Root directory of the store, or a file of its folder cut.")
    ],
    topic: Annotated[str, typer.Argument(help="Name of the topic.")],
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="File; .parquet for Parquet. Standard output else.")
    ] = None,
    queue: Annotated[int | None, typer.Option(help="Only this queue id.")] = None,
    json: Json = False,
) -> None:
    """Write the messages of a topic to a file: JSON lines, or Parquet. The store is only read.

    A file is replaced when all is written; links are followed, devices and pipes are written to.
    """
    from mqframe_store_tools.commands.message_files import is_parquet, write_lines, write_parquet

    rows = _rows(directory, topic, queue)
    if output is None or is_standard_output(output):
        write_lines(rows, sys.stdout.buffer)
        return
    try:
        with output_file(output) as file:
            count = (write_parquet if is_parquet(output) else write_lines)(rows, file)
    except OSError as problem:
        raise SettingError(f"{output} cannot be written: {problem.strerror or problem}") from problem
    show_one({"messages": count, "file": str(output)}, as_json=json)


def import_(
    file: Annotated[Path, typer.Argument(help="What export wrote; - reads JSON lines from standard input.")],
    topic: Annotated[str | None, typer.Option(help="Send to this topic, not to the file's.")] = None,
    group: Annotated[str, typer.Option(help="Producer group.")] = "mqframe-cli",
    nameserver: NameServer = "",
    json: Json = False,
) -> None:
    """Send the messages of a file to brokers that run.

    Bodies, tags, keys, properties of applications and the order within each queue are kept; offsets, times
    and message ids are new, as brokers give them.
    """
    from mqframe import Producer

    sent = 0
    with Producer(group=group, nameserver=nameserver, **access()) as producer:
        try:
            for batch, queue in _batches(producer, _read(file), topic):
                if len(batch) == 1:
                    producer.send(batch[0], queue=queue)
                else:
                    producer.send_batch(batch, queue=queue)
                sent += len(batch)
        except MqframeError:
            if not json:
                typer.echo(f"mqframe: {sent} messages were sent before the failure", err=True)
            raise
    show_one({"messages": sent}, as_json=json)


def _rows(directory: Path, topic: str, queue: int | None) -> Iterator[dict[str, Any]]:
    from mqframe_admin.rules.message_rows import message_row
    from mqframe_cli.stopped_store import known_store

    from mqframe.store.reader import StoreReader
    from mqframe_store_tools.checking.cut_file import cut_messages, is_cut_file

    if is_cut_file(directory):
        return (
            message_row(message)
            for message in cut_messages(directory)
            if message.topic == topic and queue in (None, message.queue_id)
        )
    layout = known_store(directory)
    reader = StoreReader(layout.root)
    queues = reader.queue_ids(topic)
    if not queues or (queue is not None and queue not in queues):
        which = f"topic {topic}" if queue is None else f"queue {queue} of topic {topic}"
        raise SettingError(f"{layout.root} holds no {which}")
    return (
        message_row(message)
        for queue_id in (queues if queue is None else [queue])
        for message in reader.records(topic, queue_id, *reader.queue_range(topic, queue_id))
    )


def _read(path: Path) -> Iterator[dict[str, Any]]:
    from mqframe_store_tools.commands.message_files import is_parquet, read_lines, read_parquet

    if str(path) == "-":
        return read_lines(sys.stdin.buffer)
    if not path.exists() or path.is_dir():
        raise SettingError(f"there is no file {path}")
    return read_parquet(path) if is_parquet(path) else _lines_of(path)


def _lines_of(path: Path) -> Iterator[dict[str, Any]]:
    from mqframe_store_tools.commands.message_files import read_lines

    file: IO[bytes]
    with path.open("rb") as file:
        yield from read_lines(file)


def _batches(
    producer: Producer, rows: Iterable[dict[str, Any]], topic: str | None
) -> Iterator[tuple[list[Message], MessageQueue]]:
    """Neighbours that go to one queue, as many as travel together."""
    messages = _messages(rows, topic)
    placed = ((message, _queue(producer, message.topic, queue_id)) for message, queue_id in messages)
    for queue, same in groupby(placed, key=lambda each: each[1]):
        batch: list[Message] = []
        size = 0
        for message, _ in same:
            if batch and (len(batch) == _BATCH_MESSAGES or size + len(message.body) > _BATCH_BYTES):
                yield batch, queue
                batch, size = [], 0
            batch.append(message)
            size += len(message.body)
        if batch:
            yield batch, queue


def _messages(rows: Iterable[dict[str, Any]], topic: str | None) -> Iterator[tuple[Message, int]]:
    from mqframe import Message
    from mqframe.core.messages.properties import RESERVED
    from mqframe_store_tools.commands.message_files import body_bytes

    for number, row in enumerate(rows, 1):
        try:
            own = {name: text for name, text in (row.get("properties") or {}).items() if name not in RESERVED}
            message = Message(
                topic or row["topic"], body_bytes(row), row.get("tag"), row.get("keys") or (), own,
                row.get("flag") or 0,
            )  # fmt: skip
            yield message, int(row.get("queue_id") or 0)
        except (KeyError, AttributeError, ValueError, TypeError, MessageError) as problem:
            raise MessageError(f"message {number} of the file cannot be sent: {problem}") from problem


def _queue(producer: Producer, topic: str, queue_id: int) -> MessageQueue:
    queues = producer.queues(topic)
    same = [queue for queue in queues if queue.queue_id == queue_id]
    return same[0] if same else queues[queue_id % len(queues)]
