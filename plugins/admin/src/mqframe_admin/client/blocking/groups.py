"""GroupAdmin: `AsyncGroupAdmin` for plain threads.

Generated from mqframe_admin.client.groups, not to be edited:
run `python tools/generate_sync_api.py`.
"""

from __future__ import annotations

import builtins

from mqframe_assignment.rules.bodies import RequestModeBody

from mqframe.core.consuming.bodies import OffsetWrapper
from mqframe.core.consuming.group_config import SubscriptionGroupConfig
from mqframe.core.messages.message import MessageQueue
from mqframe_admin.client.blocking.subject import SyncSubject
from mqframe_admin.client.groups import AsyncGroupAdmin


class GroupAdmin(SyncSubject[AsyncGroupAdmin]):
    """Consumer groups."""

    def create(
        self, group: str | SubscriptionGroupConfig, *, cluster: str | None = None, broker: str | None = None
    ) -> None:
        """Create or change a consumer group, given by name or with its whole configuration."""
        self._call(self._client.create, group, cluster=cluster, broker=broker)

    def delete(self, group: str, *, clean_offsets: bool = False) -> None:
        """Delete a consumer group on all masters; its progress too with `clean_offsets`."""
        self._call(self._client.delete, group, clean_offsets=clean_offsets)

    def configs(self) -> dict[str, SubscriptionGroupConfig]:
        """The configuration of all consumer groups by name, sorted."""
        return self._call(self._client.configs)

    def list(self) -> builtins.list[str]:
        """Names of all consumer groups, sorted."""
        return self._call(self._client.list)

    def stats(self, group: str, topic: str | None = None) -> dict[MessageQueue, OffsetWrapper]:
        """How far `group` is in each queue, of all its topics or of `topic`; the lag is broker - consumer."""
        return self._call(self._client.stats, group, topic)

    def lag(self, group: str, topic: str | None = None) -> int:
        """How many messages `group` has still to consume, of all its topics or of `topic`.

        Raises `RouteError` for a topic, and `FixError` for a group that no broker knows: neither by its
        configuration nor by progress or members.
        """
        return self._call(self._client.lag, group, topic)

    def set_request_mode(self, group: str, topic: str, mode: str, *, share: int = 0) -> None:
        """Let members of `group` read `topic` by PULL or POP from their next rebalance on.

        `share`: how many further members each shares its popped queues with; 0: with all. Sent to all
        masters that have the topic. Raises `FixError` for another mode, a topic that no broker has, or a
        group that one does not know.
        """
        self._call(self._client.set_request_mode, group, topic, mode, share=share)

    def request_modes(self, group: str | None = None) -> builtins.list[RequestModeBody]:
        """All modes that were set, or those of `group`, by topic and group; PULL where nothing was set."""
        return self._call(self._client.request_modes, group)

    def readable(self, group: str, topic: str, readable: bool | None = None) -> bool:
        """Whether `group` may read `topic` on all its brokers; set first when `readable` is given."""
        return self._call(self._client.readable, group, topic, readable)
