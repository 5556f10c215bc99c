"""Messages that were popped and are not settled: acknowledged, renewed, or handed back."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Sequence
from typing import Final

from mqframe.client.connection.instance import ClientInstance
from mqframe.core.codes import ResponseCode
from mqframe.core.errors import AnswerError, CallTimeout, MqframeError, ReceiptError
from mqframe.core.messages.log_fields import log_fields
from mqframe.core.messages.message import ReceivedMessage
from mqframe.log import get_logger
from mqframe.net.clock import Every, LoopClock, within
from mqframe_pop.client.pop_calls import PopCalls
from mqframe_pop.rules.popped import PoppedMessage

log = get_logger("client")

AGAIN_SECONDS: Final = 1.0
"""After an acknowledgement that did not arrive, until the next try; what is overdue comes again anyway."""
AT_ONCE_SECONDS: Final = 0.001
"""The shortest invisible time: for messages that others may have now."""
LOOKS: Final = 8
"""So often within an invisible time it is looked for messages that need more; they get it at half of it."""


class Hand:
    """One message in hand. `gone`: called once it is settled, with whether it was consumed; `done`: it is to
    be acknowledged, or handed back; `consumed`: it is to be acknowledged."""

    __slots__ = ("change", "consumed", "done", "gone", "message")

    def __init__(self, message: PoppedMessage, gone: Callable[[PoppedMessage, bool], None]) -> None:
        self.message = message
        self.gone = gone
        self.done = False
        self.consumed = False
        self.change: asyncio.Task[None] | None = None
        """The change of its invisible time that is under way; its handle is another one afterwards."""


class MessagesInHand:
    """All of one consumer. `seconds`: for how long messages are hidden. All methods belong to the loop.

    Acknowledgements of one broker go together: those that come while one request is under way are the next.
    """

    def __init__(
        self, group: str, instance: ClientInstance, calls: PopCalls, clock: LoopClock, seconds: float
    ) -> None:
        self._group = group
        self._instance = instance
        self._calls = calls
        self._clock = clock
        self.seconds = seconds
        self._hands: dict[ReceivedMessage, Hand] = {}
        self._done: dict[str, list[PoppedMessage]] = {}
        self._acking: dict[str, asyncio.Task[None]] = {}
        self._single: set[str] = set()
        self._look: Every | None = None
        self._empty: asyncio.Future[None] | None = None

    def __len__(self) -> int:
        return len(self._hands)

    def has(self, message: ReceivedMessage) -> bool:
        """Whether `message` is in hand, and not done."""
        hand = self._hands.get(message)
        return hand is not None and not hand.done

    def start(self) -> None:
        """Renew what takes long, from now on."""
        self._look = Every(self._clock, self.seconds / LOOKS, self._renew, name="invisible times")

    def take(self, messages: Iterable[PoppedMessage], gone: Callable[[PoppedMessage, bool], None]) -> None:
        """`messages` were popped; `gone` is called with each once it is settled."""
        self._hands.update((message, Hand(message, gone)) for message in messages)

    def settle(self, messages: Iterable[ReceivedMessage]) -> None:
        """Acknowledge those of `messages` that are in hand."""
        for message in messages:
            hand = self._hands.get(message)
            if hand is None or hand.done:
                continue
            if hand.message.acknowledged:  # by the application itself
                self._let_go(hand, consumed=True)
                continue
            hand.done = hand.consumed = True
            if hand.change is None:
                self._acknowledge(hand.message)

    async def hand_back(self, message: ReceivedMessage, seconds: float) -> None:
        """Have it delivered again after `seconds`; where that cannot be said, when its time is over."""
        hand = self._hands.get(message)
        if hand is None or hand.done:
            return
        hand.done = True
        if hand.change is not None:
            await asyncio.wait([hand.change])
        try:
            await self._calls.change_invisible_time(hand.message, max(seconds, AT_ONCE_SECONDS))
        except ReceiptError as late:
            self._too_late(late)
        except MqframeError as problem:
            log.warning(
                "message could not be handed back; it comes again when its invisible time is over",
                reason=str(problem),
                **log_fields([message], self._group),
            )
        finally:
            self._let_go(hand, consumed=False)

    async def let_go(self, message: ReceivedMessage) -> None:
        """Leave it to the application from now on, which gets a handle that no change under way makes old."""
        hand = self._hands.get(message)
        if hand is not None:
            if hand.change is not None:
                await asyncio.wait([hand.change])
            self._let_go(hand, consumed=False)

    async def give_back(self, messages: Iterable[ReceivedMessage]) -> None:
        """Others may have `messages` now."""
        await asyncio.gather(*[self.hand_back(message, AT_ONCE_SECONDS) for message in messages])

    async def give_back_all_but(self, running: Iterable[ReceivedMessage | None]) -> None:
        """Give back what nobody has begun; the `running` ones keep the time that they have."""
        begun = set(running)
        await self.give_back([m for m, hand in self._hands.items() if m not in begun and not hand.done])

    async def hide(self, message: ReceivedMessage, seconds: float) -> None:
        """Hide it for `seconds` from now on."""
        hand = self._hands.get(message)
        if hand is not None and not hand.done:
            self._change(hand, seconds)
            if hand.change is not None:
                await asyncio.wait([hand.change])

    async def stop(self, seconds: float) -> None:
        """Renew nothing more, and wait up to `seconds` for acknowledgements that are under way."""
        if self._look is not None:
            self._look.stop()
        tasks = set(self._acking.values())
        if tasks:
            try:
                await within(self._clock, seconds, asyncio.wait(tasks))
            except CallTimeout:
                for task in tasks:
                    task.cancel()

    # Renewal

    def _renew(self) -> None:
        soon = self._clock.monotonic() + self.seconds / 2
        for hand in list(self._hands.values()):
            if not (hand.done or hand.message.acknowledged) and hand.message.deadline < soon:
                self._change(hand, self.seconds)

    def _change(self, hand: Hand, seconds: float) -> None:
        if hand.change is None:
            hand.change = self._instance.spawn(self._changed(hand, seconds))

    async def _changed(self, hand: Hand, seconds: float) -> None:
        try:
            await self._calls.change_invisible_time(hand.message, seconds)
        except ReceiptError as late:
            self._too_late(late)
            self._let_go(hand, consumed=False)
            return
        except MqframeError as problem:  # tried again as long as its time is not over
            name = hand.message.broker_name
            self._instance.outages.note("invisible time was not renewed", name, problem, group=self._group)
        finally:
            hand.change = None
        if hand.consumed and hand.message in self._hands:
            self._acknowledge(hand.message)

    # Acknowledgements

    def _acknowledge(self, message: PoppedMessage) -> None:
        broker = message.broker_name
        self._done.setdefault(broker, []).append(message)
        if broker not in self._acking:
            self._acking[broker] = self._instance.spawn(self._acknowledge_at(broker))

    async def _acknowledge_at(self, broker: str) -> None:
        try:
            while messages := self._done.pop(broker, None):
                try:
                    left = await self._acknowledged(broker, messages)
                except Exception:  # not to hold what nobody works at; they come again
                    self._forget(messages, consumed=False)
                    raise
                kept = set(map(id, left))
                self._forget([each for each in messages if id(each) not in kept], consumed=True)
                if left:
                    self._done.setdefault(broker, [])[:0] = left
                    await self._clock.sleep(AGAIN_SECONDS)
        finally:
            del self._acking[broker]

    async def _acknowledged(self, broker: str, messages: list[PoppedMessage]) -> Sequence[PoppedMessage]:
        """Those that are to be acknowledged once more."""
        try:
            if broker in self._single or len(messages) == 1:
                for message in messages:
                    await self._one(message)
            else:
                await self._calls.acknowledge_all(messages)
        except ReceiptError as late:
            self._too_late(late)
        except AnswerError as refused:
            if refused.code == ResponseCode.REQUEST_CODE_NOT_SUPPORTED and broker not in self._single:
                self._single.add(broker)  # before 5.1.3
                return await self._acknowledged(broker, messages)
            return self._unacknowledged(broker, messages, refused)
        except MqframeError as problem:
            return self._unacknowledged(broker, messages, problem)
        else:
            self._instance.outages.over("acknowledgement failed", broker)
        return ()

    async def _one(self, message: PoppedMessage) -> None:
        if not message.acknowledged:
            try:
                await self._calls.acknowledge(message)
            except ReceiptError as late:
                self._too_late(late)

    def _unacknowledged(
        self, broker: str, messages: list[PoppedMessage], problem: MqframeError
    ) -> Sequence[PoppedMessage]:
        self._instance.outages.note("acknowledgement failed", broker, problem, group=self._group)
        now = self._clock.monotonic()
        return [each for each in messages if not each.acknowledged and now < each.deadline]

    def _too_late(self, late: ReceiptError) -> None:
        log.warning(
            "a popped message is not ours any more; it comes again", group=self._group, reason=str(late)
        )

    def _forget(self, messages: Sequence[PoppedMessage], *, consumed: bool) -> None:
        for message in messages:
            if (hand := self._hands.get(message)) is not None:
                self._let_go(hand, consumed=consumed)

    def _let_go(self, hand: Hand, *, consumed: bool) -> None:
        if self._hands.pop(hand.message, None) is not None:
            hand.gone(hand.message, consumed)
