"""Administration of consumer groups: create, change, delete (source: AdminBrokerProcessor.java)."""

from __future__ import annotations

from typing import Final

from mqframe.core.codes import ResponseCode
from mqframe.core.consuming.group_config import SubscriptionGroupConfig
from mqframe.core.errors import Refusal
from mqframe.core.messages.names import BROKER_GROUP_PREFIX
from mqframe.core.requests.lasting import not_saved
from mqframe.core.requests.serving import Call, Reply, serves
from mqframe.core.wire.loose_json import dumps
from mqframe.turns import in_turns
from mqframe_admin.bodies import GroupConfigList
from mqframe_admin.broker.processor import AdminProcessor
from mqframe_admin.requests import (
    DeleteSubscriptionGroup,
    UpdateAndCreateSubscriptionGroup,
    UpdateAndCreateSubscriptionGroupList,
)

LIST_MAX: Final = 5000
"""Groups in one request: all that are new are written down together."""
TURN_GROUPS: Final = 256
"""Groups that are made or changed in one turn of the loop."""
GROUP_BYTES_MAX: Final = 64 * 1024
"""Longest configuration of one group, as JSON."""


class AdminGroupProcessor(AdminProcessor):
    """Makes, changes and deletes consumer groups."""

    @serves(UpdateAndCreateSubscriptionGroup)
    def put_group(self, fields: UpdateAndCreateSubscriptionGroup, call: Call) -> Reply:
        group = call.body(SubscriptionGroupConfig)
        self._check(group)
        self._groups.put(group)
        return Reply()

    def _check(self, group: SubscriptionGroupConfig) -> None:
        """Raise `Refusal` 29 for a group with more than one may have."""
        settings = self._settings
        old = self._groups.find(group.group_name)
        most = max(settings.topic_queues_max, 0 if old is None else old.retry_queue_nums)
        if not 0 <= group.retry_queue_nums <= most:
            raise Refusal(
                ResponseCode.INVALID_PARAMETER,
                f"group {group.group_name[:200]}: {group.retry_queue_nums} retry queues; the most is {most} "
                "(broker.topic_queues_max)",
            )
        names = {name.lstrip("+-") for name in group.attributes} | set(old.attributes if old else ())
        if len(names) > settings.attributes_max:
            raise Refusal(
                ResponseCode.INVALID_PARAMETER,
                f"group {group.group_name[:200]}: {len(names)} attributes; the most is "
                f"{settings.attributes_max} (broker.attributes_max)",
            )
        size = len(dumps(group))
        if size > GROUP_BYTES_MAX:
            raise Refusal(
                ResponseCode.INVALID_PARAMETER,
                f"group {group.group_name[:200]}: its configuration has {size} bytes as JSON; the most is "
                f"{GROUP_BYTES_MAX}",
            )

    @serves(UpdateAndCreateSubscriptionGroupList)
    async def put_groups(self, fields: UpdateAndCreateSubscriptionGroupList, call: Call) -> Reply:
        groups = call.body(GroupConfigList).group_config_list
        if len(groups) > LIST_MAX:
            raise Refusal(
                ResponseCode.INVALID_PARAMETER,
                f"{len(groups)} groups at once, at most {LIST_MAX} are taken; send them in parts",
            )
        async for some in in_turns(groups, TURN_GROUPS):
            for group in some:
                self._check(group)
                self._groups.check(group)
        names = {group.group_name for group in groups}
        self._groups.admit(sum(name not in self._groups for name in names))
        async for some in in_turns(groups, TURN_GROUPS):
            for group in some:
                self._groups.put(group)
        if not await self._save():
            raise not_saved()
        return Reply()

    @serves(DeleteSubscriptionGroup)
    def delete_group(self, fields: DeleteSubscriptionGroup, call: Call) -> Reply:
        if fields.group_name.startswith(BROKER_GROUP_PREFIX):
            raise Refusal(ResponseCode.NO_PERMISSION, f"group {fields.group_name} is the broker's own")
        self._administration.delete_group(fields.group_name)
        if fields.clean_offset:
            self._offsets.remove_group(fields.group_name)
        return Reply()
