"""Isolation of tasks from single messages: what a task can do nothing with is noted, and left out."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from mqframe.broker.tables.identity import Identity
from mqframe.core.clock import Clock
from mqframe.core.requests.failures import may_pass
from mqframe.core.storage.left_out import LeftOutList, LeftOutMessage, MessagePlace
from mqframe.log import get_logger

log = get_logger("broker")
SHOWN_MAX: Final = 16
"""How many of them the broker's counters name, the newest."""


class LeftOut:
    """Notes what is left out: in `messages`, which is saved, and once in the log."""

    __slots__ = ("_clock", "_identity", "messages")

    def __init__(self, clock: Clock, identity: Identity) -> None:
        self._clock = clock
        self._identity = identity
        self.messages = LeftOutList()

    def attempt(self, task: str, place: MessagePlace, work: Callable[[], object]) -> bool:
        """Do `work` on the message at `place`; whether that worked.

        Whatever it raises is the message's own, and leaves it out, but for errors that may pass
        (`may_pass`): these are raised, for no other message would fare better.
        """
        try:
            work()
        except Exception as problem:
            if may_pass(problem):
                raise
            self.note(task, place, problem)
            return False
        return True

    def note(self, task: str, place: MessagePlace, problem: Exception | str) -> None:
        """`task` leaves out the message at `place`, because of `problem`."""
        text = problem if isinstance(problem, str) else f"{type(problem).__name__}: {problem}"
        if self.messages.add(task, place, text, self._clock.now_ms()):
            log.error(
                "a message is left out",
                task=task, topic=place.topic, queue=place.queue_id, offset=place.queue_offset,
                log_offset=place.log_offset, reason=text,
                exc_info=problem if isinstance(problem, Exception) else None,
            )  # fmt: skip

    def counters(self) -> dict[str, str]:
        """How many messages were left out, and the newest of them: their ids, places and why."""
        newest = self.messages.newest[:SHOWN_MAX]
        shown = {f"leftOut.{number:02d}": self._words(each) for number, each in enumerate(newest, 1)}
        return {"leftOutMessages": str(self.messages.total), **shown}

    def _words(self, each: LeftOutMessage) -> str:
        place = f"{each.topic} queue {each.queue_id} offset {each.queue_offset}, log offset {each.log_offset}"
        return f"{self._identity.offset_id(max(each.log_offset, 0))} {each.task}: {place}: {each.problem}"
