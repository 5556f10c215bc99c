"""Who uses the broker during a day: producers and consumers of every kind, all real clients."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from random import Random
from typing import Any

from mqframe_pop.client.consumer import AsyncSimpleConsumer
from mqframe_testing.simulation import SimulatedClock
from mqframe_transactions.client.listener import TransactionListener
from mqframe_transactions.client.producer import AsyncTransactionProducer
from soak.ledger import Ledger
from soak.servers import NAMESERVER, Servers

from mqframe.client.configuration.consumer_settings import ConsumerSettings
from mqframe.client.consuming.push.consumer import AsyncPushConsumer
from mqframe.client.sending.producer import AsyncProducer
from mqframe.core.consuming.consume_result import ConsumeResult
from mqframe.core.errors import MqframeError
from mqframe.core.messages.message import Message
from mqframe.core.sending.request_reply import reply_to
from mqframe.core.sending.transaction_outcome import TransactionOutcome

TOPICS = {"normal": 2, "ordered": 4, "later": 2, "batch": 2, "tx": 1, "poison": 1, "pop": 2, "ask": 1}
"""Topics and their queues."""
KEYS = 6
LEVELS = (1, 2, 3, 4, 5, 6, 10, 14, 16)
DELAY_SECONDS_MAX = 5400
RETURNS_MAX = 2
"""How often a failed message comes back before it is a dead letter."""


class Outcomes(TransactionListener):
    """How each transaction ends follows from the number of its message."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger

    async def execute_local_transaction(self, message: Any, arg: Any) -> TransactionOutcome:
        return TransactionOutcome.UNKNOWN if arg % 3 == 0 else outcome_of(arg)

    async def check_local_transaction(self, message: Any) -> TransactionOutcome:
        return outcome_of(int(message.body.split(b"|")[0]))


def outcome_of(number: int) -> TransactionOutcome:
    """Two of three are committed in the end."""
    return TransactionOutcome.ROLLBACK if number % 5 < 2 else TransactionOutcome.COMMIT


class Customers:
    """All clients of one day."""

    def __init__(self, servers: Servers, ledger: Ledger, clock: SimulatedClock, chance: Random) -> None:
        self._servers = servers
        self._ledger = ledger
        self._clock = clock
        self._chance = chance
        self._sequences = [0] * KEYS
        self._busy_keys: set[int] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        self._stopping = False
        self.popped: set[int] = set()
        self.replies = 0
        common = {"nameserver": NAMESERVER, "clock": clock}
        self.producer = AsyncProducer("shop", **common)
        self.transactions = AsyncTransactionProducer("bank", Outcomes(ledger), **common)
        retries = ConsumerSettings(max_reconsume_times=RETURNS_MAX)
        self.pushed = AsyncPushConsumer("c", consume_from="first", settings=retries, **common)
        self.ordered = AsyncPushConsumer("o", consume_from="first", ordered=True, **common)
        self.replier = AsyncPushConsumer("r", consume_from="first", **common)
        self.popper = AsyncSimpleConsumer("p", consume_from="first", await_duration=15.0, **common)
        for topic in ("normal", "later", "batch", "tx", "poison"):
            self.pushed.subscribe(topic, "*", self._take)
        self.ordered.subscribe("ordered", "*", self._take_ordered)
        self.replier.subscribe("ask", "*", self._reply)
        self.popper.subscribe("pop")

    @property
    def busy(self) -> int:
        """How much is under way."""
        return len(self._tasks)

    async def start(self) -> None:
        for client in (
            self.producer,
            self.transactions,
            self.pushed,
            self.ordered,
            self.replier,
            self.popper,
        ):
            await self._end(client.start())
        self._spawn(self._pop_on())

    async def stop(self) -> None:
        self._stopping = True
        for client in (
            self.popper,
            self.replier,
            self.ordered,
            self.pushed,
            self.transactions,
            self.producer,
        ):
            await self._end(client.stop())
        while self._tasks:
            await self._clock.advance(1.0)

    async def _end(self, work: Awaitable[Any]) -> None:
        task = asyncio.ensure_future(work)
        while not task.done():
            await self._clock.advance(0.05)
        await task

    def _spawn(self, work: Any) -> None:
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._ended)

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and task.exception() is not None:
            self._ledger.find(f"a customer met {task.exception()!r}")

    # Producers

    def act(self) -> None:
        """Begin one thing that a producer does."""
        acts = (
            self._plain,
            self._plain,
            self._plain,
            self._in_order,
            self._in_order,
            self._later,
            self._level,
        )
        acts += (self._batch, self._transact, self._to_pop, self._to_pop, self._poison, self._ask)
        self._spawn(self._chance.choice(acts)())

    async def _send(self, topic: str, kind: str, *, more: str = "", **options: Any) -> bool:
        due_ms, seconds = options.pop("due", (0, float("inf")))
        number, body = self._ledger.new(kind, more, due_ms, seconds)
        return await self._sent([number], self.producer.send(Message(topic, body), **options))

    async def _sent(self, numbers: list[int], sending: Awaitable[Any]) -> bool:
        """Whether `sending` was acknowledged; its messages are promised then."""
        began = self._clock.monotonic()
        try:
            await sending
        except MqframeError as problem:
            for number in numbers:
                self._ledger.unsure(number)
            if self._servers.is_quiet(began):
                self._ledger.find(f"a send failed for no reason: {problem!r}")
            return False
        for number in numbers:
            self._ledger.promised(number)
        return True

    async def _plain(self) -> None:
        await self._send("normal", "normal")

    async def _to_pop(self) -> None:
        await self._send("pop", "pop")

    async def _poison(self) -> None:
        await self._send("poison", "poison")

    async def _later(self) -> None:
        seconds = self._chance.choice((1.0, 5.0, 60.0, self._chance.uniform(1, DELAY_SECONDS_MAX)))
        due = self._clock.now_ms() + round(seconds * 1000)
        when = self._chance.choice(({"deliver_at": due}, {"delay": seconds}))
        await self._send("later", "timer", due=(due, seconds), **when)

    async def _level(self) -> None:
        level = self._chance.choice(LEVELS)
        delay_ms = self._servers.broker.service_port.levels[level - 1]
        due = self._clock.now_ms() + delay_ms
        await self._send("later", "level", due=(due, delay_ms / 1000), delay_level=level)

    async def _batch(self) -> None:
        made = [self._ledger.new("batch") for _ in range(self._chance.randrange(2, 9))]
        sending = self.producer.send_batch([Message("batch", body) for _, body in made])
        await self._sent([number for number, _ in made], sending)

    async def _in_order(self) -> None:
        key = self._chance.randrange(KEYS)
        if key in self._busy_keys:
            return  # the one before is not answered yet: a caller who wants order waits for it
        self._busy_keys.add(key)
        sequence, self._sequences[key] = self._sequences[key], self._sequences[key] + 1
        await self._send("ordered", "ordered", more=f"{key}/{sequence}", sharding_key=str(key))
        self._busy_keys.discard(key)

    async def _transact(self) -> None:
        number, body = self._ledger.new("tx")
        if outcome_of(number) is TransactionOutcome.ROLLBACK:
            self._ledger.never(number)
        await self._sent([number], self.transactions.send_in_transaction(Message("tx", body), number))

    async def _ask(self) -> None:
        began = self._clock.monotonic()
        question = b"question %d" % self._chance.getrandbits(40)
        try:
            answer = await self.producer.request(Message("ask", question), timeout=20.0)
        except MqframeError as problem:
            if self._servers.is_quiet(began):
                self._ledger.find(f"a request failed for no reason: {problem!r}")
            return
        self.replies += 1
        if answer.body != b"answer to " + question:
            self._ledger.find(f"{question!r} was answered {answer.body!r}")

    # Consumers

    async def _take(self, messages: Any, context: Any) -> ConsumeResult:
        for message in messages:
            _, kind, _ = self._ledger.arrived(
                message.body, ("normal", "timer", "level", "batch", "tx", "poison")
            )
            if kind == "poison" or self._chance.random() < 0.02:
                return ConsumeResult.RECONSUME_LATER
        return ConsumeResult.SUCCESS

    async def _take_ordered(self, messages: Any, context: Any) -> ConsumeResult:
        for message in messages:
            key, _, sequence = message.body.split(b"|")[2].decode().partition("/")
            self._ledger.in_order(int(message.body.split(b"|")[0]), key, int(sequence))
            self._ledger.arrived(message.body, ("ordered",))
        if self._chance.random() < 0.02:
            return ConsumeResult.SUSPEND_CURRENT_QUEUE_A_MOMENT
        return ConsumeResult.SUCCESS

    async def _reply(self, messages: Any, context: Any) -> ConsumeResult:
        for message in messages:
            try:
                await self.producer.send(reply_to(message, b"answer to " + message.body))
            except MqframeError:
                continue  # whoever asked hears that nobody answered in time
        return ConsumeResult.SUCCESS

    async def _pop_on(self) -> None:
        while not self._stopping:
            try:
                for message in await self.popper.receive(16, self._chance.choice((10.0, 30.0, 90.0))):
                    await self._handle(message)
            except MqframeError:
                if self._stopping:
                    return
                await self._clock.sleep(1.0)

    async def _handle(self, message: Any) -> None:
        number, _, _ = self._ledger.arrived(message.body, ("pop",))
        what = self._chance.random()
        if what < 0.05:
            self.popped.add(number)  # forgotten: it has to come again
            return
        try:
            if what < 0.12:
                await self.popper.change_invisible_duration(message, self._chance.choice((5.0, 20.0)))
                self.popped.add(number)
            else:
                await self.popper.ack(message)
                self.popped.discard(number)
        except MqframeError:
            self.popped.add(number)
