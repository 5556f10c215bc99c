"""`mqframe bench`: how fast the Python clients are against a server."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Sequence
from typing import Annotated, Any

import typer

from mqframe.core.errors import SettingError
from mqframe_cli.access import access
from mqframe_cli.commands import FAILED, new_app
from mqframe_cli.live.meter import Done, meter
from mqframe_cli.output import Json, NameServer, show

app = new_app(help="How fast the Python clients are against a server.")
Topic = Annotated[str, typer.Option(help="Topic to use; it is made when it does not exist.")]
Count = Annotated[int, typer.Option(help="Messages.")]
GROUP = "mqframe-bench"


@app.command()
def produce(
    topic: Topic = "mqframe-bench",
    modes: Annotated[
        str, typer.Option("--mode", help="sync, async, submit; comma-separated.")
    ] = "sync,async,submit",
    count: Count = 20_000,
    size: Annotated[int, typer.Option(help="Size of a body, bytes.")] = 100,
    width: Annotated[int, typer.Option(help="Sends under way at once, of async.")] = 256,
    nameserver: NameServer = "",
    json: Json = False,
) -> None:
    """Send messages: one by one (sync), many awaited at once (async), or packed (submit)."""
    runs = {"sync": _sync, "async": _async, "submit": _submit}
    wanted = modes.split(",")
    unknown = [mode for mode in wanted if mode not in runs]
    if unknown or min(count, size, width) < 1:
        raise SettingError(f"--mode must be of {', '.join(runs)}, and numbers at least 1")
    rows = []
    for mode in wanted:
        with meter(mode, count) as done:
            outcome = runs[mode](nameserver, topic, b"x" * size, count, width, done)
        rows.append(_result(mode, *outcome, size=size))
    show(rows, as_json=json)


@app.command()
def consume(
    topic: Topic = "mqframe-bench",
    count: Count = 20_000,
    batch: Annotated[int, typer.Option(help="Messages that the listener gets at once.")] = 32,
    seconds: Annotated[float, typer.Option(help="Give up after so long.")] = 60.0,
    nameserver: NameServer = "",
    json: Json = False,
) -> None:
    """Consume messages from the start of a topic with a new group. Latency is from being stored."""
    from mqframe import ConsumeResult, ConsumerSettings, PushConsumer

    settings = ConsumerSettings(consume_message_batch_max_size=batch)
    consumer = PushConsumer(
        group=f"{GROUP}-{time.time_ns()}",
        nameserver=nameserver,
        consume_from="first",
        settings=settings,
        **access(),
    )
    done, lock = threading.Event(), threading.Lock()
    begin = seen = 0

    def handle(messages: Any, context: Any) -> ConsumeResult:
        nonlocal begin, seen
        with lock:
            begin = begin or time.perf_counter_ns()
            seen += len(messages)
            came(min(seen, count))
            if seen >= count:
                done.set()
        return ConsumeResult.SUCCESS

    consumer.subscribe(topic, "*", handle)
    with meter("consume", count) as came, consumer:
        complete = done.wait(seconds)
        elapsed = (time.perf_counter_ns() - begin) / 1e9 if begin else seconds
    show([_result(f"consume by {batch}", seen, elapsed, [])], as_json=json)
    if not complete:
        typer.echo(f"mqframe: only {seen} of {count} messages came within {seconds:g} s", err=True)
        raise typer.Exit(FAILED)


Outcome = tuple[int, float, Sequence[float]]
"""Messages, seconds for all, seconds for each."""


def _sync(nameserver: str, topic: str, body: bytes, count: int, width: int, done: Done) -> Outcome:
    from mqframe import Message, Producer

    message, times = Message(topic, body), []
    with Producer(group=GROUP, nameserver=nameserver, **access()) as producer:
        producer.send(message)
        started = time.perf_counter()
        for _ in range(count):
            before = time.perf_counter()
            producer.send(message)
            times.append(time.perf_counter() - before)
            done(len(times))
        return count, time.perf_counter() - started, times


def _async(nameserver: str, topic: str, body: bytes, count: int, width: int, done: Done) -> Outcome:
    from mqframe import AsyncProducer, Message

    message, times = Message(topic, body), []

    async def run() -> float:
        async with AsyncProducer(group=GROUP, nameserver=nameserver, **access()) as producer:

            async def worker(number: int) -> None:
                for _ in range(number, count, width):
                    before = time.perf_counter()
                    await producer.send(message)
                    times.append(time.perf_counter() - before)
                    done(len(times))

            await producer.send(message)
            started = time.perf_counter()
            await asyncio.gather(*map(worker, range(min(width, count))))
            return time.perf_counter() - started

    return count, asyncio.run(run()), times


def _submit(nameserver: str, topic: str, body: bytes, count: int, width: int, done: Done) -> Outcome:
    from mqframe import Message, Producer

    message = Message(topic, body)
    with Producer(group=GROUP, nameserver=nameserver, **access()) as producer:
        producer.send(message)
        started = time.perf_counter()
        for number, future in enumerate([producer.submit(message) for _ in range(count)], 1):
            future.result()
            done(number)
        return count, time.perf_counter() - started, []


def _result(what: str, count: int, seconds: float, times: Sequence[float], **more: Any) -> dict[str, Any]:
    ordered = sorted(times)
    row = {"what": what, **more, "messages": count, "seconds": round(seconds, 3)}
    row["messages_per_second"] = round(count / seconds) if seconds else 0
    for name, share in (("p50_ms", 0.5), ("p99_ms", 0.99), ("max_ms", 1.0)):
        at = min(len(ordered) - 1, int(len(ordered) * share))
        row[name] = round(ordered[at] * 1000, 3) if ordered else None
    return row
