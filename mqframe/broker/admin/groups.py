"""Administration of consumer groups: create, change, show, delete (source: AdminBrokerProcessor.java)."""

from __future__ import annotations

from mqframe.broker.service import Processor
from mqframe.core.cluster.group_table import BROKER_GROUP_PREFIX
from mqframe.core.codes import ResponseCode
from mqframe.core.consuming.group_config import GroupConfigList, SubscriptionGroupConfig
from mqframe.core.errors import Refusal
from mqframe.core.requests.admin import (
    DeleteSubscriptionGroup,
    GetAllSubscriptionGroupConfig,
    GetSubscriptionGroupConfig,
    UpdateAndCreateSubscriptionGroup,
    UpdateAndCreateSubscriptionGroupList,
)
from mqframe.core.requests.serving import Call, Reply, serves
from mqframe.core.wire.loose_json import dumps


class GroupProcessor(Processor):
    """Makes, changes, shows and deletes consumer groups."""

    @serves(UpdateAndCreateSubscriptionGroup)
    def put_group(self, fields: UpdateAndCreateSubscriptionGroup, call: Call) -> Reply:
        self._groups.put(call.body(SubscriptionGroupConfig))
        return Reply()

    @serves(UpdateAndCreateSubscriptionGroupList)
    def put_groups(self, fields: UpdateAndCreateSubscriptionGroupList, call: Call) -> Reply:
        for group in call.body(GroupConfigList).group_config_list:
            self._groups.put(group)
        return Reply()

    @serves(GetAllSubscriptionGroupConfig)
    def all_groups(self, fields: GetAllSubscriptionGroupConfig, call: Call) -> Reply:
        table = self._groups.dump()
        return Reply(ext={"totalGroupNum": str(len(table.subscription_group_table))}, body=dumps(table))

    @serves(GetSubscriptionGroupConfig)
    def show_group(self, fields: GetSubscriptionGroupConfig, call: Call) -> SubscriptionGroupConfig:
        return self._groups.find(fields.group) or self._groups.need(
            fields.group, self._live.current.auto_create_groups
        )

    @serves(DeleteSubscriptionGroup)
    def delete_group(self, fields: DeleteSubscriptionGroup, call: Call) -> Reply:
        if fields.group_name.startswith(BROKER_GROUP_PREFIX):
            raise Refusal(ResponseCode.NO_PERMISSION, f"group {fields.group_name} is the broker's own")
        self._groups.remove(fields.group_name)
        self._statistics.forget_group(fields.group_name)
        if fields.clean_offset:
            self._offsets.remove_group(fields.group_name)
        return Reply()
