"""The send template: check, find the route, choose a queue, send, try again (behaviour.md §2).

    forbidden-check hooks, before-send hooks, RPC hook, remote call, RPC hook, after-send hooks

What is sent was prepared by hooks before it was encoded (`prepared_sends`).

One template for both APIs: everything that waits goes through a `SendTransport`.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any, Final, Protocol

import attrs

from mqframe.client.connection.patience import Patience
from mqframe.client.sending.batches import Encoder, SendBatch
from mqframe.client.sending.busy_gates import BusyGates
from mqframe.client.sending.prepared_sends import PreparingHooks, preparing_hooks
from mqframe.client.sending.transport import SendTransport
from mqframe.core.clock import Clock
from mqframe.core.cluster.route import TopicRoute
from mqframe.core.codes import ResponseCode
from mqframe.core.delay.options import TIMERS_SINCE
from mqframe.core.errors import (
    AnswerError,
    CallTimeout,
    ConnectError,
    ConnectionLost,
    FixError,
    MqframeError,
    RetryError,
    RouteError,
)
from mqframe.core.messages.message import Message, MessageQueue, SendResult, SendStatus
from mqframe.core.sending.answer import read_send_answer, split_send_result
from mqframe.core.sending.queue_choice import FaultLatency, QueueChoice
from mqframe.core.sending.retries import UNCERTAIN, RetryRules, Tries
from mqframe.core.versions import check_has
from mqframe.hooks.interfaces import ForbiddenContext, ForbiddenHook, QueueSelector, SendContext, SendHook
from mqframe.hooks.isolate import after_each, before_each, check_forbidden

DOUBT_SECONDS: Final = 1.0
"""A route that seems to be old is asked for again so often at most."""


class Randomness(Protocol):
    """The part of `random.Random` that is used."""

    def random(self) -> float:
        """A number in [0, 1)."""

    def randrange(self, stop: int, /) -> int:
        """A whole number in [0, stop)."""


@attrs.frozen(kw_only=True)
class PipelineOptions:
    """What a pipeline does besides sending.

    `hooks`, `forbidden`: resolved once; empty tuples cost one truth test a send. `faults`: brokers to avoid
    for a while, or `None`. `vip`: use the broker's port - 2. `client_id`: what hooks are told.
    """

    hooks: tuple[SendHook, ...] = ()
    forbidden: tuple[ForbiddenHook, ...] = ()
    faults: FaultLatency | None = None
    try_timeout_seconds: float = 0.0
    vip: bool = False
    client_id: str = ""


class SendPipeline:
    """Sends batches of one producer group, which `encoder` knows."""

    def __init__(
        self,
        transport: SendTransport,
        clock: Clock,
        randomness: Randomness,
        encoder: Encoder,
        options: PipelineOptions,
    ) -> None:
        self.group = encoder.group
        self.transport = transport
        self.encoder = encoder
        self.clock = clock
        self._randomness = randomness
        self.patience = Patience(clock.monotonic, transport.sleep, randomness.random)
        self.hooks = options.hooks
        preparing = preparing_hooks(options.hooks)
        self.preparing = PreparingHooks(preparing, self.group, options.client_id) if preparing else None
        self.forbidden = options.forbidden
        self._faults = options.faults
        self._try_timeout = options.try_timeout_seconds
        self._vip = options.vip
        self._choices: dict[str, QueueChoice] = {}
        self._doubted: dict[str, float] = {}

    @property
    def hooked(self) -> bool:
        """Whether somebody looks at the messages."""
        return bool(self.hooks or self.forbidden)

    # Where to

    async def route(self, topic: str, seconds: float) -> TopicRoute:
        """A route with queues to write, which is waited for `seconds` at most. Raises `RouteError`."""
        route = self.transport.known_route(topic)
        if route is not None and route.write_queues():
            return route

        async def find(left: float) -> TopicRoute:
            found = await self.transport.find_route(topic, left)
            if not found.write_queues():
                raise RouteError(
                    f"topic {topic} has no queue to write: its brokers have no master, or forbid writing"
                )
            return found

        return await self.patience.over(find, seconds)

    def choose(self, route: TopicRoute, avoid: str | None = None) -> MessageQueue:
        """The next queue of the topic, of another broker than `avoid` where there is one."""
        choice = self._choices.get(route.topic)
        if choice is None:
            start = self._randomness.randrange(1 << 16)
            choice = self._choices.setdefault(route.topic, QueueChoice(start, self._faults))
        return choice.choose(route.write_queues(), avoid)

    @staticmethod
    def select(route: TopicRoute, message: Message, selector: QueueSelector, key: Any) -> MessageQueue:
        """The queue that `selector` returns. Raises `FixError` when it fails or returns none of `route`."""
        queues = route.write_queues()
        try:
            queue = selector.select(queues, message, key)
        except MqframeError:
            raise
        except Exception as problem:  # the selector is the application's; its failure stops this send only
            raise FixError(
                f"selector {type(selector).__name__} failed for {message.topic}: {problem!r}"
            ) from problem
        if queue not in queues:
            raise FixError(
                f"selector {type(selector).__name__} gave {queue!r}, which is no queue of the route"
            )
        return queue

    async def address(self, route: TopicRoute, queue: MessageQueue, seconds: float) -> str:
        """Where the master of `queue` listens; the route is asked for again when it says nothing of it."""
        found = route.master_address(queue.broker_name)
        if found is None:
            route = await self.transport.find_route(queue.topic, seconds)
            found = route.master_address(queue.broker_name)
            if found is None:
                raise RouteError(
                    f"broker {queue.broker_name} of topic {queue.topic} has no master; nothing was sent"
                )
        return vip_address(found) if self._vip else found

    # The whole way

    async def deliver(
        self,
        batch: SendBatch,
        rules: RetryRules,
        route: TopicRoute,
        deadline: float,
        *,
        fixed: MessageQueue | None = None,
        first: MessageQueue | None = None,
        avoid: str | None = None,
        doubt: MqframeError | None = None,
        mode: str = "sync",
        gates: BusyGates | None = None,
    ) -> SendResult:
        """Send `batch`, trying again as `rules` say, until `deadline` (monotonic seconds).

        `fixed`: the only queue that may take it; `first`: the queue for the first try; `avoid`: a broker that
        failed before; `doubt`: what an earlier try met that may have stored them; `gates`: where each try
        waits for its turn, which takes nothing of its time. Raises what the last try met, or what an earlier
        one met that may have stored them (`maybe_stored`), as a cancelled one may.
        """
        monotonic = self.clock.monotonic
        tries = Tries(rules, self._randomness.random, doubt)
        stored: SendResult | None = None
        while True:
            queue = fixed or (first if first is not None and not tries.tried else self.choose(route, avoid))
            began = monotonic()
            tries.tried.append(queue.broker_name)
            try:
                if gates is not None:
                    deadline += await gates.enter(queue.broker_name)
                    began = monotonic()
                trying = self._try(batch, route, queue, deadline - began, tries.any_left, mode)
                result = await (trying if gates is None else gates.watched(queue.broker_name, trying))
            except MqframeError as problem:
                brokers = {each.broker_name for each in ((fixed,) if fixed else route.write_queues())}
                delay = self._delay_after(problem, tries, queue, brokers, began, deadline)
                if stored is not None and delay != 0.0:
                    return stored
                if delay is None:
                    shown = tries.explain(problem)
                    if shown is problem:
                        raise
                    raise shown from problem
            except BaseException as interruption:  # re-raised: a cancelled send says what is not known
                interruption.add_note(f"the send to {queue} was interrupted; {UNCERTAIN}")
                raise
            else:
                if self._faults is not None:
                    self._note_success(queue, monotonic() - began)
                if result.status is SendStatus.SEND_OK or not rules.not_store_ok:
                    return result
                if monotonic() >= deadline or not tries.take_one():
                    return result
                stored, delay = result, 0.0
            avoid = queue.broker_name
            if delay:
                await self.transport.sleep(delay)
            route = self._latest(route, fixed)

    def _delay_after(
        self,
        problem: MqframeError,
        tries: Tries,
        queue: MessageQueue,
        brokers: Collection[str],
        began: float,
        deadline: float,
    ) -> float | None:
        """Seconds until the next try, as `Tries` says, and what else is to be learnt of `problem`."""
        now = self.clock.monotonic()
        self._note_failure(queue, problem, now - began)
        self._doubt_route(queue.topic, problem, now)
        return tries.next_delay(problem, brokers, deadline - now)

    def _latest(self, route: TopicRoute, fixed: MessageQueue | None) -> TopicRoute:
        """What is known by now in place of `route`; that itself where a new one has no queue to try.

        A broker that died is missing in routes until another one leads in its place.
        """
        latest = self.transport.known_route(route.topic)
        if latest is None:
            return route
        has_queue = latest.write_queues() if fixed is None else latest.master_address(fixed.broker_name)
        return latest if has_queue else route

    def _doubt_route(self, topic: str, problem: MqframeError, now: float) -> None:
        """Ask for the route of `topic` before the next poll where `problem` says that it is old."""
        is_old = isinstance(problem, ConnectError | ConnectionLost) or (
            isinstance(problem, AnswerError) and problem.code == ResponseCode.SERVICE_NOT_AVAILABLE
        )
        if is_old and now - self._doubted.get(topic, -DOUBT_SECONDS) >= DOUBT_SECONDS:
            self._doubted[topic] = now
            self.transport.doubt_route(topic)

    async def oneway(self, batch: SendBatch, route: TopicRoute, queue: MessageQueue, deadline: float) -> None:
        """Send `batch` once it can be handed to a connection, without wanting an answer."""

        async def connected(seconds: float) -> None:
            await self._oneway(batch, self._latest(route, queue), queue, deadline)

        await self.patience.over(connected, deadline - self.clock.monotonic())

    async def _oneway(
        self, batch: SendBatch, route: TopicRoute, queue: MessageQueue, deadline: float
    ) -> None:
        address = await self.address(route, queue, deadline - self.clock.monotonic())
        if batch.timed:
            await self._check_timers(address, deadline - self.clock.monotonic())
        born = self.clock.now_ms()
        if self.forbidden:
            self.check_forbidden(batch.messages, queue, address, "oneway")
        contexts = self._before(batch, queue, address, "oneway", born) if self.hooks else ()
        problem: BaseException | None = None
        try:
            left = deadline - self.clock.monotonic()
            await self.transport.oneway(
                address, self.encoder.header(batch, queue, born), batch.body, timeout=left
            )
        except BaseException as error:  # re-raised: the hooks are notified first
            problem = error
            raise
        finally:
            if contexts:
                self._after(contexts, None, problem)

    def check_forbidden(
        self, messages: Sequence[Message], queue: MessageQueue, address: str, mode: str
    ) -> None:
        """Let the forbidden-check hooks look at each message. Raises `Forbidden`."""
        for message in messages:
            check_forbidden(self.forbidden, ForbiddenContext(self.group, message, queue, address, mode))

    async def _try(
        self, batch: SendBatch, route: TopicRoute, queue: MessageQueue, seconds: float, more: bool, mode: str
    ) -> SendResult:
        if seconds <= 0:
            late = CallTimeout(f"no time left to send to {queue.topic}")
            late.maybe_stored = False
            raise late
        if more and self._try_timeout:
            seconds = min(seconds, self._try_timeout)
        address = route.master_address(queue.broker_name)
        if address is None or self._vip:
            address = await self.address(route, queue, seconds)
        if batch.timed:
            await self._check_timers(address, seconds)
        if self.forbidden and mode != "async":  # of submitted messages each was looked at by itself
            self.check_forbidden(batch.messages, queue, address, mode)
        born = self.clock.now_ms()
        if not self.hooks:
            header = self.encoder.header(batch, queue, born)
            answer = await self.transport.invoke(address, header, batch.body, timeout=seconds)
            return read_send_answer(answer, queue, batch.message_id, address)
        return await self._try_with_hooks(batch, queue, address, seconds, mode, born)

    async def _check_timers(self, address: str, seconds: float) -> None:
        """Raise `FixError` for a broker that would deliver at once what is to be delivered later."""
        try:
            version = await self.transport.broker_version(address, seconds)
        except RetryError as problem:
            problem.maybe_stored = False  # the message had not left
            raise
        check_has(version, TIMERS_SINCE, "delay and deliver_at (unlike delay_level) need", address)

    async def _try_with_hooks(
        self, batch: SendBatch, queue: MessageQueue, address: str, seconds: float, mode: str, born: int
    ) -> SendResult:
        contexts = self._before(batch, queue, address, mode, born)
        try:
            header = self.encoder.header(batch, queue, born)
            answer = await self.transport.invoke(address, header, batch.body, timeout=seconds)
            result = read_send_answer(answer, queue, batch.message_id, address)
        except BaseException as problem:  # re-raised: the hooks are notified first
            self._after(contexts, None, problem)
            raise
        self._after(contexts, result, None)
        return result

    # Hooks

    def _before(
        self, batch: SendBatch, queue: MessageQueue, address: str, mode: str, born: int
    ) -> list[SendContext]:
        # What submit packed together was sent one by one as far as hooks are concerned.
        each = mode == "async" and batch.packed
        parts = zip(batch.messages, batch.ids, strict=True) if each else ()
        contexts = [SendContext(self.group, (m,), (i,), queue, address, mode, born) for m, i in parts]
        if not each:
            contexts.append(SendContext(self.group, batch.messages, batch.ids, queue, address, mode, born))
        if batch.operations:
            for context, operation in zip(contexts, batch.operations, strict=True):
                context.extras = operation.extras
        for context in contexts:
            before_each(self.hooks, context)
        return contexts

    def _after(
        self, contexts: Sequence[SendContext], result: SendResult | None, problem: BaseException | None
    ) -> None:
        results: Sequence[SendResult | None] = [result] * len(contexts)
        if result is not None and len(contexts) > 1:
            results = split_send_result(result, [context.message_ids[0] for context in contexts])
        for context, one in zip(contexts, results, strict=True):
            context.result = one
            context.error = problem
            after_each(self.hooks, context)

    # Latency faults (DefaultMQProducerImpl.sendDefaultImpl)

    def _note_success(self, queue: MessageQueue, seconds: float) -> None:
        if self._faults is not None:
            self._faults.update(queue.broker_name, seconds * 1000, failed=False, reachable=True)

    def _note_failure(self, queue: MessageQueue, problem: MqframeError, seconds: float) -> None:
        if self._faults is None:
            return
        answered = isinstance(problem, AnswerError)
        failed = answered or (isinstance(problem, RetryError) and not isinstance(problem, RouteError))
        self._faults.update(queue.broker_name, seconds * 1000, failed=failed, reachable=not answered)


def vip_address(address: str) -> str:
    """The port of a broker that serves no pulls: two below (MixAll.brokerVIPChannel)."""
    host, _, port = address.rpartition(":")
    if not port.isdecimal() or len(port) > 5:
        raise RouteError(f"{address!r} is not an address like host:port; nothing was sent")
    return f"{host}:{int(port) - 2}"
