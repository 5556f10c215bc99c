"""DeadLetterAdmin: `AsyncDeadLetterAdmin` for plain threads.

Generated from mqframe_admin.client.dead_letters, not to be edited:
run `python tools/generate_sync_api.py`.
"""

from __future__ import annotations

import builtins
from collections.abc import Iterable
from datetime import datetime

from mqframe_admin.client.blocking.subject import SyncSubject
from mqframe_admin.client.dead_letters import AsyncDeadLetterAdmin, Resent
from mqframe_admin.rules.dead_letters import END_OF_TIME, DeadLetter, ResendTo


class DeadLetterAdmin(SyncSubject[AsyncDeadLetterAdmin]):
    """Dead letters. A group's topic of them is write-only until somebody opens it."""

    def open(self, group: str) -> builtins.list[str]:
        """Let the dead letters of `group` be read: permission 6. The brokers on which that was a change."""
        return self._call(self._client.open, group)

    def close(self, group: str) -> builtins.list[str]:
        """Have the dead letters of `group` only written again. The brokers on which that was a change."""
        return self._call(self._client.close, group)

    def list(
        self,
        group: str,
        *,
        key: str | None = None,
        tag: str | None = None,
        topic: str | None = None,
        begin_ms: int | datetime = 0,
        end_ms: int | datetime = END_OF_TIME,
        max_count: int = 1000,
    ) -> builtins.list[DeadLetter]:
        """The dead letters of `group`, the oldest first, `max_count` at most.

        `key`: one of the keys, the sender's or the broker's id; `topic`: the original one; `begin_ms`,
        `end_ms`: when they were given up, ms since 1970 or datetimes with their zones, both included. Empty
        where the group never gave a message up. Raises `FixError` while the topic may not be read, and for
        times that are none of these.
        """
        return self._call(
            self._client.list,
            group,
            key=key,
            tag=tag,
            topic=topic,
            begin_ms=begin_ms,
            end_ms=end_ms,
            max_count=max_count,
        )

    def get(self, group: str, message_id: str) -> DeadLetter | None:
        """The dead letter of `group` with a sender's id, the newest where there are several, or with a
        broker's id; `None` when there is none. Whether the topic may be read makes no difference.
        """
        return self._call(self._client.get, group, message_id)

    def resend(
        self, letters: Iterable[DeadLetter], *, to: ResendTo | str = ResendTo.GROUP, again: bool = False
    ) -> builtins.list[Resent]:
        """Send copies of `letters`, one after the other, with the count of their returns at 0 again.

        `to`: "group" (only the group that gave them up gets them) or "topic" (whoever subscribes their
        original topic does). The dead letters stay where they are. One of which a copy was sent before is
        left out unless `again`: copies carry a mark, and are looked for by the unique key. That holds over
        restarts and between operators, but not for two who send the same one in the same moment.

        Raises what a send raises; whatever was sent until then is found by the next call and left out. Raises
        `FixError` for "group" when the group consumes in order: brokers take such copies for failures.
        """
        return self._call(self._client.resend, tuple(letters), to=to, again=again)
