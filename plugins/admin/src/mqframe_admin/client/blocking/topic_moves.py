"""TopicMoveAdmin: `AsyncTopicMoveAdmin` for plain threads.

Generated from mqframe_admin.client.topic_moves, not to be edited:
run `python tools/generate_sync_api.py`.
"""

from __future__ import annotations

from collections.abc import Sequence

from mqframe_admin.client.blocking.subject import SyncSubject
from mqframe_admin.client.topic_moves import AsyncTopicMoveAdmin
from mqframe_admin.rules.topic_move import TopicMove


class TopicMoveAdmin(SyncSubject[AsyncTopicMoveAdmin]):
    """A move in two steps, with a wait between them. Each may be repeated, and asks what every broker of
    RocketMQ answers.
    """

    def begin(self, topic: str, source: str, targets: Sequence[str]) -> TopicMove:
        """Give `topic` to the brokers `targets`, as `source` has it, and have producers leave that.

        A target that has the topic keeps its queues. Producers know of it with their next look at the route
        (30 s); a fixed queue list of the topic changes at once. Raises `FixError` for a broker that is not
        registered, or has no such topic.
        """
        return self._call(self._client.begin, topic, source, targets)

    def look(self, topic: str, source: str, groups: Sequence[str] | None = None) -> TopicMove:
        """How far it is. `groups`: whose progress counts, all of the topic by default."""
        return self._call(self._client.look, topic, source, groups)

    def finish(
        self, topic: str, source: str, groups: Sequence[str] | None = None, *, force: bool = False
    ) -> TopicMove:
        """Have consumers leave `source`, too. Messages that were consumed go there at their age, as ever.

        Raises `FixError` while producers may write there, or, unless `force`, something would be lost by it;
        it says what. Done before, it does nothing.
        """
        return self._call(self._client.finish, topic, source, groups, force=force)
