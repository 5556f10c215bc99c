"""`mqframe bench`: how fast the Python clients are against a server."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Iterator, Sequence
from typing import Annotated, Any, Final

import typer

from mqframe.core.errors import SettingError
from mqframe_cli.access import access
from mqframe_cli.commands import FAILED, new_app
from mqframe_cli.live.meter import Done, meter
from mqframe_cli.output import Json, NameServer, show

app = new_app(help="How fast the Python clients are against a server.")
Topic = Annotated[str, typer.Option(help="Topic to use; it is made when it does not exist.")]
Count = Annotated[int, typer.Option(help="Messages.")]
Size = Annotated[int, typer.Option(help="Size of a body, bytes.")]
GROUP = "mqframe-bench"
PERCENTILES: Final = (
    ("p50_ms", 0.5),
    ("p90_ms", 0.9),
    ("p99_ms", 0.99),
    ("p999_ms", 0.999),
    ("max_ms", 1.0),
)


@app.command()
def produce(
    topic: Topic = "mqframe-bench",
    modes: Annotated[
        str, typer.Option("--mode", help="sync, async, submit; comma-separated.")
    ] = "sync,async,submit",
    count: Count = 20_000,
    seconds: Annotated[
        float | None, typer.Option(help="Send for so long with each mode, in place of --count.")
    ] = None,
    size: Size = 100,
    width: Annotated[int, typer.Option(help="Sends under way at once, of async.")] = 256,
    nameserver: NameServer = "",
    json: Json = False,
) -> None:
    """Send messages: one by one (sync), many awaited at once (async), or packed (submit).

    Latency is from a send to its answer; packed messages have none of their own.
    """
    runs = {"sync": _sync, "async": _async, "submit": _submit}
    wanted = modes.split(",")
    unknown = [mode for mode in wanted if mode not in runs]
    if unknown or min(count, size, width) < 1 or (seconds is not None and seconds <= 0):
        raise SettingError(f"--mode must be of {', '.join(runs)}, and numbers at least 1")
    rows = []
    for mode in wanted:
        with meter(mode, count if seconds is None else None) as done:
            outcome = runs[mode](nameserver, topic, b"x" * size, _Until(count, seconds), width, done)
        rows.append(_result(mode, *outcome, size=size))
    show(rows, as_json=json)


@app.command()
def deliver(
    topic: Topic = "mqframe-bench",
    rate: Annotated[float, typer.Option(help="Messages a second.")] = 1000.0,
    seconds: Annotated[float, typer.Option(help="Send for so long.")] = 10.0,
    size: Size = 100,
    nameserver: NameServer = "",
    json: Json = False,
) -> None:
    """Send at a rate and consume at the same time; latency is from when a send was due to its handler.

    A send that begins late, as the one before held it up, has that on its account, too.
    """
    from mqframe_cli.live.delivery import STAMP_BYTES, DeliveryRun

    if min(rate, seconds) <= 0 or size < STAMP_BYTES:
        raise SettingError(f"--rate and --seconds must be more than 0, --size at least {STAMP_BYTES}")
    run = DeliveryRun(topic, GROUP, rate, seconds, size)
    with meter("deliver", round(rate * seconds)) as done:
        asyncio.run(run.run(nameserver, done))
    show([{**_result("deliver", run.sent, seconds, run.times, size=size), "lost": run.lost}], as_json=json)
    if run.lost:
        typer.echo(f"mqframe: {run.lost} of {run.sent} messages did not come", err=True)
        raise typer.Exit(FAILED)


@app.command()
def consume(
    topic: Topic = "mqframe-bench",
    count: Count = 20_000,
    batch: Annotated[int, typer.Option(help="Messages that the listener gets at once.")] = 32,
    seconds: Annotated[float, typer.Option(help="Give up after so long.")] = 60.0,
    nameserver: NameServer = "",
    json: Json = False,
) -> None:
    """Consume messages from the start of a topic with a new group."""
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


class _Until:
    """Says how long to go on: `count` times, or in place of that for `seconds` from the first time on."""

    def __init__(self, count: int, seconds: float | None) -> None:
        self._left = count
        self._seconds = seconds
        self._end = 0.0

    def __iter__(self) -> Iterator[float]:
        """The moment of each turn, seconds by `time.perf_counter`."""
        while True:
            now = time.perf_counter()
            if self._seconds is None:
                self._left -= 1
                if self._left < 0:
                    return
            else:
                self._end = self._end or now + self._seconds
                if now >= self._end:
                    return
            yield now


Outcome = tuple[int, float, Sequence[float]]
"""Messages, seconds for all, seconds for each."""


def _sync(nameserver: str, topic: str, body: bytes, turns: _Until, width: int, done: Done) -> Outcome:
    from mqframe import Message, Producer

    message, times = Message(topic, body), []
    with Producer(group=GROUP, nameserver=nameserver, **access()) as producer:
        producer.send(message)
        started = time.perf_counter()
        for before in turns:
            producer.send(message)
            times.append(time.perf_counter() - before)
            done(len(times))
        return len(times), time.perf_counter() - started, times


def _async(nameserver: str, topic: str, body: bytes, turns: _Until, width: int, done: Done) -> Outcome:
    from mqframe import AsyncProducer, Message

    message, times = Message(topic, body), []

    async def run() -> float:
        async with AsyncProducer(group=GROUP, nameserver=nameserver, **access()) as producer:

            async def worker() -> None:
                for before in turns:
                    await producer.send(message)
                    times.append(time.perf_counter() - before)
                    done(len(times))

            await producer.send(message)
            started = time.perf_counter()
            await asyncio.gather(*[worker() for _ in range(width)])
            return time.perf_counter() - started

    elapsed = asyncio.run(run())
    return len(times), elapsed, times


def _submit(nameserver: str, topic: str, body: bytes, turns: _Until, width: int, done: Done) -> Outcome:
    from mqframe import Message, Producer

    message = Message(topic, body)
    with Producer(group=GROUP, nameserver=nameserver, **access()) as producer:
        producer.send(message)
        started = time.perf_counter()
        number = 0
        for number, future in enumerate([producer.submit(message) for _ in turns], 1):
            future.result()
            done(number)
        return number, time.perf_counter() - started, []


def _result(what: str, count: int, seconds: float, times: Sequence[float], **more: Any) -> dict[str, Any]:
    ordered = sorted(times)
    row = {"what": what, **more, "messages": count, "seconds": round(seconds, 3)}
    row["messages_per_second"] = round(count / seconds) if seconds else 0
    for name, share in PERCENTILES:
        at = min(len(ordered) - 1, int(len(ordered) * share))
        row[name] = round(ordered[at] * 1000, 3) if ordered else None
    return row
