"""`mqframe consume`: write what a group gets to standard output."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated, Any

import typer

from mqframe_cli.access import access, admin_client
from mqframe_cli.later import typed_ms
from mqframe_cli.live.lines import write_message
from mqframe_cli.names.known import check_known
from mqframe_cli.output import Json, NameServer
from mqframe_cli.text.body import Base64

HELD_SECONDS = 0.5


From = Annotated[
    str, typer.Option("--from", help="Where a new group begins: first, last, or 2026-01-31T12:00.")
]


def consume(
    topic: Annotated[str, typer.Argument(help="Name of the topic.")],
    group: Annotated[str, typer.Option(help="Consumer group; its progress is kept.")],
    tag: Annotated[str, typer.Option(help="Only these tags: a || b.")] = "*",
    sql: Annotated[str, typer.Option(help="Only messages whose properties fulfil this: a > 1.")] = "",
    consume_from: From = "last",
    allocate: Annotated[str, typer.Option(help="Allocation strategy.")] = "averagely",
    count: Annotated[int | None, typer.Option(help="Stop after so many messages.")] = None,
    seconds: Annotated[float | None, typer.Option(help="Stop after so many seconds.")] = None,
    base64: Base64 = False,
    nameserver: NameServer = "",
    json: Json = False,
) -> None:
    """Consume a topic as a member of a group, one line for each message, until Ctrl-C.

    Messages that were written are consumed: the group does not get them again.
    """
    from mqframe import ConsumeResult, ConsumerSettings, FixError, PushConsumer, Sql

    if sql and tag != "*":
        raise FixError("messages are chosen by --tag or by --sql, not by both")
    begin = _beginning(consume_from)
    with admin_client(nameserver) as admin:
        check_known(admin, topic)
    ended, stopped = threading.Event(), threading.Event()
    left = count

    def handle(messages: Any, context: Any) -> ConsumeResult:
        nonlocal left
        if left == 0:
            # Held until the consumer has left, and so neither consumed nor handed back as failed.
            stopped.wait()
            return ConsumeResult.RECONSUME_LATER
        write_message(messages[0], as_json=json, base64=base64)
        if left is not None:
            left -= 1
            if left == 0:
                ended.set()
        return ConsumeResult.SUCCESS

    # One thread: lines come whole, and as many as were asked for. A listener that holds a message back is not
    # waited for longer than the last result needs to get through.
    held: dict[str, Any] = {} if count is None else {"stop_seconds": HELD_SECONDS}
    settings = ConsumerSettings(consume_threads=1, **held)
    consumer = PushConsumer(
        group,
        nameserver=nameserver,
        consume_from=begin,
        allocate=allocate,
        settings=settings,
        **access(),
    )
    consumer.subscribe(topic, Sql(sql) if sql else tag, handle, batch_max=1)
    with ended_by_signals(ended):
        try:
            with consumer:
                ended.wait(seconds)
        finally:
            stopped.set()


def _beginning(text: str) -> str | int:
    return text if text in ("first", "last") else typed_ms("--from", text, "first, last")


@contextmanager
def ended_by_signals(ended: threading.Event) -> Iterator[None]:
    """Have SIGTERM and SIGINT set `ended` while the block runs."""
    numbers = (signal.SIGTERM, signal.SIGINT)
    before = [signal.signal(number, lambda *_: ended.set()) for number in numbers]
    try:
        yield
    finally:
        for number, handler in zip(numbers, before, strict=True):
            signal.signal(number, handler)
