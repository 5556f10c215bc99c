"""Calls to the cluster: few at once, none for long; and when it was heard of last."""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Awaitable, Callable, Iterable
from typing import Final, ParamSpec, TypeVar

from mqframe import AsyncAdmin, AsyncPuller
from mqframe.core.config.suggestions import did_you_mean
from mqframe.core.errors import AccessError, AnswerError, FixError, MqframeError, RetryError
from mqframe.core.messages.ids import parse_offset_id
from mqframe.core.messages.message import ReceivedMessage

P = ParamSpec("P")
T = TypeVar("T")
A = TypeVar("A")

ASK_SECONDS: Final = 5.0
ASKED_AT_ONCE: Final = 8


class NoAnswer(RetryError):
    """The cluster did not answer in time."""


class NotFound(FixError):
    """There is no such thing in the cluster. The message says what was probably meant."""


def called(call: Callable[..., object]) -> str:
    """What people read for a method that is asked: "broker runtime" for `admin.brokers.runtime`."""
    name = getattr(call, "__name__", "call").replace("_", " ")
    subject = re.fullmatch("Async(\\w+)Admin", type(getattr(call, "__self__", None)).__name__)
    return f"{re.sub('(?<!^)(?=[A-Z])', ' ', subject[1]).lower()} {name}" if subject else name


async def settled(look: Callable[[A], Awaitable[T]], each: Iterable[A]) -> dict[A, T | MqframeError]:
    """For each argument what `look` returns, or what it raised; all at the same time."""

    async def one(argument: A) -> T | MqframeError:
        try:
            return await look(argument)
        except MqframeError as problem:
            return problem

    arguments = list(each)
    return dict(zip(arguments, await asyncio.gather(*map(one, arguments)), strict=True))


class Asking:
    """Asks a cluster by `admin` and `puller`.

    `seconds`: how long one call may take; `at_once`: how many run at the same time, those of all pages
    together; `now`: the time, s since 1970.
    """

    def __init__(
        self,
        admin: AsyncAdmin,
        puller: AsyncPuller,
        *,
        seconds: float = ASK_SECONDS,
        at_once: int = ASKED_AT_ONCE,
        now: Callable[[], float] = time.time,
    ) -> None:
        self.admin = admin
        self.puller = puller
        self._seconds = seconds
        self._turns = asyncio.Semaphore(at_once)
        self.now = now
        self.last_heard: float | None = None
        """When the cluster answered last, s since 1970."""

    async def ask(self, call: Callable[P, Awaitable[T]], /, *args: P.args, **kwargs: P.kwargs) -> T:
        """What `call`, a method of `admin` or `puller`, returns. Raises as it does, and `NoAnswer`."""
        async with self._turns:
            try:
                async with asyncio.timeout(self._seconds):
                    found = await call(*args, **kwargs)
            except TimeoutError:
                raise NoAnswer(f"no answer to {called(call)} within {self._seconds:g} s") from None
            except AnswerError:
                self.last_heard = self.now()
                raise
        self.last_heard = self.now()
        return found

    async def ask_each(
        self, call: Callable[[A], Awaitable[T]], each: Iterable[A]
    ) -> dict[A, T | MqframeError]:
        """For each argument what `call` returns, or what it raised."""

        async def ask(argument: A) -> T:
            return await self.ask(call, argument)

        return await settled(ask, each)

    async def check_topic(self, topic: str) -> None:
        """Raise `NotFound` unless there is such a topic."""
        topics = await self.ask(self.admin.topics.list)
        if topic not in topics:
            raise NotFound(f"there is no topic {topic}; {did_you_mean(topic, topics)}".rstrip("; "))

    async def message(self, topic: str, message_id: str) -> ReceivedMessage | None:
        """The message of `topic` with a sender's or a broker's id; `None` when there is none.

        A broker's id names an address. It is only asked when a broker of this cluster has it: nobody is to
        have the dashboard connect to where they want.
        """
        found = await self.ask(self.admin.messages.by_unique_key, topic, message_id)
        if found is not None:
            return found
        try:
            address, _ = parse_offset_id(message_id)
        except FixError:
            return None
        brokers = (await self.ask(self.admin.cluster.info)).broker_addr_table.values()
        if not any(address in broker.broker_addrs.values() for broker in brokers):
            return None
        try:
            found = await self.ask(self.admin.messages.by_id, message_id, topic)
        except AccessError:
            raise
        except AnswerError:
            return None  # nothing begins there
        return found if found.topic == topic else None
