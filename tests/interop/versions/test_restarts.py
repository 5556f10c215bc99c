"""A broker of each version that is killed, and one that ends in good order, under clients of every kind."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
from collections.abc import Callable, Coroutine, Iterator, Sequence
from threading import Event, Lock, Thread
from typing import Any

import pytest
from real_time import SECONDS_MAX, came, until

from interop.apache import Apache
from interop.foreign_programs import OLDER
from interop.servers import Servers
from mqframe import (
    Admin,
    AsyncLitePullConsumer,
    AsyncProducer,
    AsyncPuller,
    AsyncPushConsumer,
    AsyncSimpleConsumer,
    ClientSettings,
    ConsumeResult,
    LitePullConsumer,
    LitePullSettings,
    Message,
    MqframeError,
    Producer,
    Puller,
    PushConsumer,
    ReceivedMessage,
    RetryError,
    SimpleConsumer,
    TransactionListener,
    TransactionOutcome,
    TransactionProducer,
)

pytestmark = pytest.mark.proves("restarts")

OFTEN = ClientSettings(persist_offsets_seconds=0.1)
SEEN_SOON = ClientSettings(heartbeat_seconds=1)
"""A broker that is back asks producers whose heartbeat it has seen."""
LITE = LitePullSettings(pull_wait_seconds=2, auto_commit_seconds=0.1)
HIDDEN_SECONDS = 10.0
BACK_SECONDS = 60.0


class Bodies:
    """What came, from any thread."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._found: set[bytes] = set()

    def __call__(self, messages: list[ReceivedMessage], context: object) -> ConsumeResult:
        self.add(messages)
        return ConsumeResult.SUCCESS

    def add(self, messages: Sequence[ReceivedMessage]) -> None:
        with self._lock:
            self._found.update(each.body for each in messages)

    def missing(self, wanted: set[bytes]) -> set[bytes]:
        with self._lock:
            return wanted - self._found


class Repeating:
    """A thread that does something again and again; a broker that is away makes it fail now and then."""

    def __init__(self, act: Callable[[], object]) -> None:
        self._act = act
        self._over = Event()
        self._problem: Exception | None = None
        self._thread = Thread(target=self._run)

    def __enter__(self) -> Repeating:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()
        assert self._problem is None, self._problem

    def _run(self) -> None:
        while not self._over.wait(0.05):
            try:
                self._act()
            except RetryError:
                continue
            except Exception as problem:
                self._problem = problem
                return


# Consumers, each in a group of its own, from the first message on


@contextlib.contextmanager
def push(servers: Servers, topic: str, *, ordered: bool = False) -> Iterator[Bodies]:
    got = Bodies()
    group = f"push_{ordered}_{topic}"
    consumer = PushConsumer(
        group, nameserver=servers.nameserver, consume_from="first", ordered=ordered, client=OFTEN
    )
    consumer.subscribe(topic, "*", got)
    with consumer:
        yield got


@contextlib.contextmanager
def lite(servers: Servers, topic: str, *, assigned: bool = False) -> Iterator[Bodies]:
    got = Bodies()
    consumer = LitePullConsumer(
        f"lite_{assigned}_{topic}", nameserver=servers.nameserver, consume_from="first", settings=LITE,
        client=OFTEN,
    )  # fmt: skip
    if not assigned:
        consumer.subscribe(topic)
    with consumer:
        if assigned:
            consumer.assign(consumer.queues(topic))
        with Repeating(lambda: got.add(consumer.poll(timeout=0.1))):
            yield got


@contextlib.contextmanager
def simple(servers: Servers, topic: str) -> Iterator[Bodies]:
    got = Bodies()

    def take() -> None:
        messages = consumer.receive(invisible_duration=HIDDEN_SECONDS, await_duration=1)
        got.add(messages)
        consumer.ack_batch(messages)

    with SimpleConsumer(f"simple_{topic}", nameserver=servers.nameserver, consume_from="first") as consumer:
        consumer.subscribe(topic)
        with Repeating(take):
            yield got


@contextlib.contextmanager
def pulling(servers: Servers, topic: str) -> Iterator[Bodies]:
    """Pulls that do not wait: Apache's broker looks after them each five seconds, however short they are."""
    got = Bodies()
    with Puller(nameserver=servers.nameserver) as puller:
        places = dict.fromkeys(puller.queues(topic), 0)

        def take() -> None:
            for queue, offset in places.items():
                result = puller.pull(queue, offset)
                got.add(result.messages)
                places[queue] = result.next_offset

        with Repeating(take):
            yield got


@contextlib.contextmanager
def looped(work: Callable[[Event], Coroutine[Any, Any, None]]) -> Iterator[None]:
    """A thread with a loop, in which `work` goes on until the event is set."""
    over = Event()
    problems: list[Exception] = []

    def run() -> None:
        try:
            asyncio.run(work(over))
        except Exception as problem:
            problems.append(problem)

    thread = Thread(target=run)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()
    assert problems == []


async def repeat(over: Event, act: Callable[[], Coroutine[Any, Any, None]]) -> None:
    while not over.is_set():
        with contextlib.suppress(RetryError):
            await act()
        await asyncio.sleep(0.05)


@contextlib.contextmanager
def awaited(servers: Servers, topic: str, *, pops: bool) -> Iterator[list[Bodies]]:
    """One consumer of each kind of asyncio, in one loop."""
    names = {"nameserver": servers.nameserver}
    got = [Bodies() for _ in range(4 if pops else 3)]

    async def work(over: Event) -> None:
        pushed = AsyncPushConsumer(f"apush_{topic}", consume_from="first", client=OFTEN, **names)
        polled = AsyncLitePullConsumer(f"alite_{topic}", consume_from="first", settings=LITE, **names)
        pushed.subscribe(topic, "*", got[0])
        polled.subscribe(topic)
        async with pushed, polled, AsyncPuller(**names) as puller, contextlib.AsyncExitStack() as more:
            places = dict.fromkeys(await puller.queues(topic), 0)

            async def poll() -> None:
                got[1].add(await polled.poll(timeout=0.1))

            async def pull() -> None:
                for queue, offset in places.items():
                    result = await puller.pull(queue, offset)
                    got[2].add(result.messages)
                    places[queue] = result.next_offset

            acts = [repeat(over, poll), repeat(over, pull)]
            if pops:
                popper = AsyncSimpleConsumer(f"asimple_{topic}", consume_from="first", **names)
                await more.enter_async_context(popper)
                popper.subscribe(topic)

                async def take() -> None:
                    messages = await popper.receive(invisible_duration=HIDDEN_SECONDS, await_duration=1)
                    got[3].add(messages)
                    await popper.ack_batch(messages)

                acts.append(repeat(over, take))
            await asyncio.gather(*acts)

    with looped(work):
        yield got


@contextlib.contextmanager
def consumers(servers: Servers, topic: str, *, pops: bool) -> Iterator[dict[str, Bodies]]:
    """One of each kind."""
    with contextlib.ExitStack() as stack:
        found = {
            "push": stack.enter_context(push(servers, topic)),
            "ordered": stack.enter_context(push(servers, topic, ordered=True)),
            "lite": stack.enter_context(lite(servers, topic)),
            "assigned": stack.enter_context(lite(servers, topic, assigned=True)),
            "puller": stack.enter_context(pulling(servers, topic)),
        }
        if pops:
            found["simple"] = stack.enter_context(simple(servers, topic))
        for n, each in enumerate(stack.enter_context(awaited(servers, topic, pops=pops))):
            found[f"asyncio {n}"] = each
        yield found


# Producers: each keeps what was acknowledged


class Committing(TransactionListener):
    """Commits at once, or when it is asked."""

    def execute_local_transaction(self, message: Message, arg: object) -> TransactionOutcome:
        return (
            TransactionOutcome.COMMIT if int(message.body.split(b"-")[1]) % 2 else TransactionOutcome.UNKNOWN
        )

    def check_local_transaction(self, message: ReceivedMessage) -> TransactionOutcome:
        return TransactionOutcome.COMMIT


@contextlib.contextmanager
def producers(servers: Servers, topic: str, halves: TransactionProducer) -> Iterator[dict[str, set[bytes]]]:
    """One of each kind, which send until the end; gives what was acknowledged to each.

    `halves`: is asked about its transactions after that.
    """
    acknowledged: dict[str, set[bytes]] = {name: set() for name in ("send", "submit", "half", "asyncio")}
    names = {"nameserver": servers.nameserver}
    number = itertools.count()

    def body(name: str) -> bytes:
        return b"%s-%d" % (name.encode(), next(number))

    with (
        Producer("sending", **names) as sending,
        Producer("submitting", **names) as submitting,
    ):

        def send() -> None:
            message = Message(topic, body("send"))
            sending.send(message)
            acknowledged["send"].add(message.body)

        def submit() -> None:
            messages = [Message(topic, body("submit")) for _ in range(5)]
            for message, future in [(message, submitting.submit(message)) for message in messages]:
                with contextlib.suppress(MqframeError):
                    future.result(60)
                    acknowledged["submit"].add(message.body)

        def half() -> None:
            message = Message(topic, body("half"))
            halves.send_in_transaction(message)
            acknowledged["half"].add(message.body)

        async def work(over: Event) -> None:
            async with AsyncProducer("awaiting", **names) as producer:

                async def send_one() -> None:
                    message = Message(topic, body("asyncio"))
                    await producer.send(message)
                    acknowledged["asyncio"].add(message.body)

                await repeat(over, send_one)

        with looped(work), Repeating(send), Repeating(submit), Repeating(half):
            yield acknowledged


def has_come(got: dict[str, Bodies], wanted: set[bytes], seconds: float) -> None:
    """Wait until everybody has `wanted`, and say who has not."""
    came(lambda: not any(each.missing(wanted) for each in got.values()), seconds)
    assert {name: missing for name, each in got.items() if (missing := each.missing(wanted))} == {}


@pytest.mark.parametrize(
    "orderly", [pytest.param(False, id="killed"), pytest.param(True, id="orderly", marks=pytest.mark.long)]
)
def test_all_clients_go_on_after_a_restart_and_nothing_is_lost(
    version: str, running: Apache, servers: Servers, admin: Admin, orderly: bool
) -> None:
    idle, busy = (f"restart_{orderly}_{name}" for name in ("idle", "busy"))
    for name in (idle, busy):
        admin.topics.create(name, queues=4)
        until(lambda name=name: name in admin.topics.list())
    pops = version != OLDER
    with (
        Producer("sleeping", nameserver=servers.nameserver) as sleeping,
        TransactionProducer(
            f"half_{busy}", Committing(), nameserver=servers.nameserver, client=SEEN_SOON
        ) as halves,
        consumers(servers, idle, pops=pops) as sleepers,
        consumers(servers, busy, pops=pops) as workers,
    ):
        sleeping.send(Message(idle, b"before"))
        has_come(sleepers, {b"before"}, SECONDS_MAX)
        with producers(servers, busy, halves) as acknowledged:
            until(lambda: all(len(each) >= 10 for each in acknowledged.values()))
            running.restart_broker(orderly=orderly)
            back = {name: len(each) for name, each in acknowledged.items()}
            until(
                lambda: all(len(each) >= back[name] + 10 for name, each in acknowledged.items()), BACK_SECONDS
            )
        # Nobody sent to the idle one meanwhile: the first send finds the way.
        sleeping.send(Message(idle, b"after"))
        has_come(sleepers, {b"after"}, BACK_SECONDS)
        sent = set().union(*acknowledged.values())
        has_come(workers, sent, SECONDS_MAX)
