"""MemberAdmin: `AsyncMemberAdmin` for plain threads.

Generated from mqframe_admin.client.members, not to be edited:
run `python tools/generate_sync_api.py`.
"""

from __future__ import annotations

from mqframe.core.consuming.running_info import ConsumerRunningInfo, DirectResult
from mqframe.core.messages.message import MessageQueue
from mqframe_admin.bodies import ConsumerConnection, ProducerConnection
from mqframe_admin.client.blocking.subject import SyncSubject
from mqframe_admin.client.members import AsyncMemberAdmin


class MemberAdmin(SyncSubject[AsyncMemberAdmin]):
    """Members of groups, those that are online."""

    def consumers(self, group: str) -> ConsumerConnection:
        """Members of a consumer group and their subscriptions; no members when nobody is online."""
        return self._call(self._client.consumers, group)

    def producers(self, group: str) -> ProducerConnection:
        """Members of a producer group; none when nobody is online."""
        return self._call(self._client.producers, group)

    def running_info(self, group: str, client_id: str, *, stacks: bool = False) -> ConsumerRunningInfo:
        """What one member holds, counts and is set to; with `stacks` also what its threads do.

        Raises `AnswerError` when it is not online or does not answer.
        """
        return self._call(self._client.running_info, group, client_id, stacks=stacks)

    def remembered_offsets(
        self, group: str, topic: str, client_id: str = ""
    ) -> dict[str, dict[MessageQueue, int]]:
        """The offsets that members have in memory, by client id; of all, or of one."""
        return self._call(self._client.remembered_offsets, group, topic, client_id)

    def consume_directly(
        self, group: str, offset_message_id: str, *, client_id: str | None = None
    ) -> DirectResult:
        """Have a member of `group` consume a stored message now; nothing is committed.

        `offset_message_id`: the broker's id (`ReceivedMessage.offset_message_id`); `client_id`: which member,
        by default any. Raises `FixError` when nobody is online, `AnswerError` when the member is not.
        """
        return self._call(self._client.consume_directly, group, offset_message_id, client_id=client_id)
