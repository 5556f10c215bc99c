"""The part of the blocking administration that deals with dead letters."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Coroutine, Iterable
from typing import Any, TypeVar

from mqframe.client.admin import AsyncAdmin
from mqframe.client.admin_dead_letters import Resent
from mqframe.core.dead_letter_rules import END_OF_TIME, DeadLetter, ResendTo

T = TypeVar("T")


class BlockingDeadLetters(ABC):
    """Arguments, results and errors are those of `AsyncAdmin`."""

    @property
    @abstractmethod
    def _admin(self) -> AsyncAdmin: ...

    @abstractmethod
    def _do(self, work: Coroutine[Any, Any, T]) -> T: ...

    def open_dead_letters(self, group: str) -> list[str]:
        """Let the dead letters of `group` be read: permission 6. The brokers on which that was a change."""
        return self._do(self._admin.open_dead_letters(group))

    def close_dead_letters(self, group: str) -> list[str]:
        """Have the dead letters of `group` only written again. The brokers on which that was a change."""
        return self._do(self._admin.close_dead_letters(group))

    def dead_letters(
        self,
        group: str,
        *,
        key: str | None = None,
        tag: str | None = None,
        topic: str | None = None,
        begin_ms: int = 0,
        end_ms: int = END_OF_TIME,
        max_count: int = 1000,
    ) -> list[DeadLetter]:
        """The dead letters of `group`, the oldest first. Raises `FixError` while they may not be read."""
        return self._do(
            self._admin.dead_letters(
                group, key=key, tag=tag, topic=topic, begin_ms=begin_ms, end_ms=end_ms, max_count=max_count
            )
        )

    def dead_letter(self, group: str, message_id: str) -> DeadLetter | None:
        """The dead letter of `group` with a sender's or a broker's id; `None` when there is none."""
        return self._do(self._admin.dead_letter(group, message_id))

    def resend_dead_letters(
        self, letters: Iterable[DeadLetter], *, to: ResendTo | str = ResendTo.GROUP, again: bool = False
    ) -> list[Resent]:
        """Send copies of `letters` to their group, or to their original topics ("topic")."""
        return self._do(self._admin.resend_dead_letters(letters, to=to, again=again))
