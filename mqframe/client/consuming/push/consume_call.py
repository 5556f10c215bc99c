"""One call of a listener with a batch of messages, its hooks around it."""

from __future__ import annotations

import asyncio
import contextlib
from collections import deque
from collections.abc import Awaitable, Callable
from typing import Any, Final

from mqframe.client.consuming.push.listener import ListenedTopic, ListenerContext
from mqframe.client.consuming.push.watched_call import ListenerHooks, WatchedCall
from mqframe.core.consuming.consume_result import ConsumeOutcome, ConsumeResult, outcome
from mqframe.core.consuming.ordered_turn import OrderedTurn
from mqframe.core.consuming.process_queue import ProcessQueue
from mqframe.core.errors import BodyUnreadable, DecodeError
from mqframe.core.messages.many import many_of
from mqframe.core.messages.message import ReceivedMessage, unreadable
from mqframe.core.sending.request_reply import REQUEST_MARK, ReplyMessage, is_expired, is_request

BUNDLE_MAX: Final = 64
"""Messages that one worker gets at once for a listener that takes one and is quick."""
BUNDLE_SECONDS: Final = 0.005
"""After so long it gives back what it has not begun, so that others may begin it."""


class ConsumeCall:
    """Messages on their way through a listener.

    `since`: monotonic seconds when they began to wait. `over`: nobody is interested in the result any more,
    because the call timed out. `elapsed`: seconds in the listener. `unreadable`: those of the messages whose
    body cannot be read, which the listener met, each with the reason: nobody will ever read them. `expired`:
    requests that were taken out of the messages, since nobody waits for their replies any more. `reply`: what
    the listener answered to its only message, which is a request.
    """

    __slots__ = (
        "context", "elapsed", "error", "expired", "held", "messages", "over", "reply", "result", "since",
        "started", "subscription", "unreadable",
    )  # fmt: skip

    def __init__(
        self, held: ProcessQueue, messages: list[ReceivedMessage], subscription: ListenedTopic, since: float
    ) -> None:
        self.held = held
        self.messages = messages
        self.subscription = subscription
        self.since = since
        self.context: ListenerContext | None = None
        self.result: Any = None
        self.reply: ReplyMessage | None = None
        self.error: BaseException | None = None
        self.expired: list[ReceivedMessage] = []
        self.elapsed = 0.0
        self.started = False
        self.over = False
        self.unreadable: dict[ReceivedMessage, str] = {}

    def take_out_expired(self, now_ms: Callable[[], int]) -> bool:
        """Take the requests out that are over by `now_ms`; whether anything is left for the listener."""
        if not many_of(self.messages).may_have(self.messages, REQUEST_MARK):
            return True
        now = now_ms()
        expired: list[ReceivedMessage] = []
        left: list[ReceivedMessage] = []
        for message in self.messages:
            (expired if is_expired(message, now) else left).append(message)
        if expired:
            self.expired = expired  # first: the loop may look at both meanwhile, and none may be missing
            self.messages = left
        return bool(left)

    def returned(self, result: Any) -> None:
        """The listener returned `result`."""
        if isinstance(result, ReplyMessage) and self.subscription.takes_one:
            self.reply, result = result, ConsumeResult.SUCCESS
        self.result = result

    def raised(self, problem: BaseException) -> None:
        """The listener raised `problem`."""
        self.error = problem
        if isinstance(problem, BodyUnreadable):
            self.unreadable = unreadable(self.messages)

    @property
    def undecodable(self) -> ReceivedMessage | None:
        """The one of the messages whose body is not what the listener took it for, if it raised that."""
        problem = self.error
        if not isinstance(problem, DecodeError):
            return None
        place = problem.queue_offset, problem.queue_id, problem.broker_name
        for message in self.messages:
            if place == (message.queue_offset, message.queue_id, message.broker_name):
                return message
        return None

    def failure(self, message: ReceivedMessage) -> BaseException | None:
        """What who waits for the reply to `message` is to be told, if anybody does: what the listener raised.

        Not where it asks for another try.
        """
        level = 0 if self.context is None else self.context.delay_level_when_next_consume
        return self.error if self.error is not None and level <= 0 and is_request(message) else None

    def reason(self, message: ReceivedMessage) -> str:
        """Why the body of `message` could not be read, or decoded; else what the listener said, mostly ""."""
        if message is self.undecodable and isinstance(self.error, DecodeError):
            return self.error.reason
        return self.unreadable.get(message) or (self.context.reason if self.context else "")


class Bundle(ConsumeCall):
    """Messages that a quick listener, which takes one, gets one after the other.

    `waiting`: those that it has not got yet, which the loop may take back at any time; `may_ask`: whether
    requests may be among them; `current`: the one that it got last. `messages`: those that went well. `odd`:
    the call of the one that did not, behind which nothing was done. `elapsed`: seconds for each, on average;
    `spent`: for `messages` together.
    """

    __slots__ = ("current", "may_ask", "odd", "spent", "waiting")

    def __init__(
        self, held: ProcessQueue, messages: list[ReceivedMessage], subscription: ListenedTopic, since: float
    ) -> None:
        super().__init__(held, [], subscription, since)
        self.waiting: deque[ReceivedMessage] = deque()
        self.fill(messages)
        self.current: ReceivedMessage | None = None
        self.odd: ConsumeCall | None = None
        self.spent = 0.0

    def fill(self, messages: list[ReceivedMessage]) -> None:
        """Have `messages` wait, where none do."""
        self.waiting.extend(messages)
        self.may_ask = many_of(messages).may_have(messages, REQUEST_MARK)

    def take_back(self) -> list[ReceivedMessage]:
        """Have the handler not get what waits for it, which is returned."""
        taken = []
        with contextlib.suppress(IndexError):  # a worker takes from the same end
            while True:
                taken.append(self.waiting.popleft())
        return taken

    def single(self, message: ReceivedMessage) -> ConsumeCall:
        """The call of `message` alone."""
        return ConsumeCall(self.held, [message], self.subscription, self.since)

    def undone(self) -> list[ReceivedMessage]:
        """The message that the handler is at, if it is at one, and those that are taken back."""
        current, done = self.current, self.messages
        at = [] if current is None or (done and done[-1] is current) else [current]
        return at + self.take_back()


class ListenerCaller:
    """Calls listeners, in whatever thread or task it is used, and notes what came of it in the call.

    `timeout_seconds` only names the outcome here; who waits too long is the consume service's business.
    `now_ms`: the clock by which requests that are over are left out; `None`: they are handed over as all are.
    """

    def __init__(
        self,
        group: str,
        hooks: ListenerHooks,
        monotonic: Callable[[], float],
        timeout_seconds: float,
        now_ms: Callable[[], int] | None = None,
    ) -> None:
        self._group = group
        self._hooks = hooks if hooks else None
        self._monotonic = monotonic
        self._timeout_seconds = timeout_seconds
        self._now_ms = now_ms

    def may_bundle(self, subscription: ListenedTopic) -> bool:
        """Whether messages of `subscription` may go into bundles: no hook watches each of its calls."""
        return subscription.batch_max == 1 and not subscription.is_async and self._hooks is None

    def call(self, call: ConsumeCall) -> None:
        """Call a plain listener. Whatever it raises is noted."""
        if call.over or call.held.dropped or self._is_empty(call):
            return
        watched = self._begin(call)
        started = self._monotonic()
        try:
            call.returned(call.subscription.function(call.messages, call.context))  # type: ignore[arg-type]
        except BaseException as problem:  # isolation boundary: it is the application's code in our thread
            call.raised(problem)
        call.elapsed = self._monotonic() - started
        if watched is not None:
            self._end(call, watched)

    def call_each(
        self,
        bundle: Bundle,
        turn: OrderedTurn | None = None,
        newest: Callable[[str], ListenedTopic | None] = lambda topic: None,
    ) -> None:
        """Call a plain listener, which no hook watches, with one message after the other, as long as all
        goes well and is quick. Requests are left to `call`. In order, the rest is left as soon as `turn` or
        its lease is over, or the subscription is not the `newest` of its topic any more."""
        # Looked up once: a row is short, and each of these would count in what a message costs.
        held, waiting, meant, monotonic = bundle.held, bundle.waiting, bundle.subscription, self._monotonic
        function, single, topic, success = meant.function, meant.single, meant.topic, ConsumeResult.SUCCESS
        queue, group, may_ask, done = held.queue, self._group, bundle.may_ask, bundle.messages.append
        bundle.started, bundle.result = True, success
        bundle.context = context = ListenerContext(queue, group)
        began = now = monotonic()
        while waiting and not (bundle.over or held.dropped) and now - began < BUNDLE_SECONDS:
            try:
                message = waiting.popleft()
            except IndexError:
                break  # the loop was quicker
            if may_ask and message.may_have(REQUEST_MARK):
                waiting.appendleft(message)
                break
            bundle.current = message
            result, error, before = None, None, now
            try:
                if single is None:
                    context = ListenerContext(queue, group)
                    result = function([message], context)
                elif (result := single(message)) is None:
                    result = success
            except BaseException as problem:  # isolation boundary: it is the application's code in our thread
                error = problem
            now = monotonic()
            if result is success and context.ack_index >= 0:
                done(message)
                bundle.spent = now - began
                if turn is None or (now <= turn.until and now <= turn.lease.until and newest(topic) is meant):
                    continue
                break
            bundle.odd = odd = bundle.single(message)
            odd.context, odd.started, odd.elapsed = context, True, now - before
            if error is None:
                odd.returned(result)
            else:
                odd.raised(error)
            break
        bundle.elapsed = (now - began) / max(1, len(bundle.messages) + (bundle.odd is not None))

    async def call_async(self, call: ConsumeCall) -> None:
        """Await an `async def` listener. Whatever it raises is noted; a cancellation goes on."""
        if call.over or call.held.dropped or self._is_empty(call):
            return
        watched = self._begin(call)
        started = self._monotonic()
        try:
            coming: Awaitable[Any] = call.subscription.function(call.messages, call.context)  # type: ignore[arg-type]
            call.returned(await coming)
        except asyncio.CancelledError as problem:
            task = asyncio.current_task()
            if task is None or task.cancelling():
                if watched is not None:
                    watched.abandon(problem)
                raise
            call.error = problem  # the listener let something else's cancellation out; we were not meant
        except Exception as problem:  # isolation boundary: it is the application's code
            call.raised(problem)
        except BaseException as problem:  # re-raised: it ends the program, or the loop
            if watched is not None:
                watched.abandon(problem)
            raise
        call.elapsed = self._monotonic() - started
        if watched is not None:
            self._end(call, watched)

    def outcome(self, call: ConsumeCall) -> ConsumeOutcome:
        """How `call` ended, its wait counted."""
        waited = self._monotonic() - call.since
        return outcome(call.result, call.error, waited, self._timeout_seconds)

    def _is_empty(self, call: ConsumeCall) -> bool:
        """Whether all that `call` has are requests that are over: it is done without its listener then."""
        if self._now_ms is None or call.take_out_expired(self._now_ms):
            return False
        call.context = ListenerContext(call.held.queue, self._group)
        call.result = ConsumeResult.SUCCESS
        return True

    def _begin(self, call: ConsumeCall) -> WatchedCall | None:
        call.started = True
        call.context = ListenerContext(call.held.queue, self._group)
        if self._hooks is None:
            return None
        return self._hooks.begin(call.messages, call.held.queue)

    def _end(self, call: ConsumeCall, watched: WatchedCall) -> None:
        context = watched.context
        context.elapsed_seconds = call.elapsed
        context.error = call.error
        context.success = call.result is ConsumeResult.SUCCESS
        context.outcome = self.outcome(call).value
        watched.end()
