"""Configurations of consumer groups, for their members and for slaves (source: AdminBrokerProcessor.java)."""

from __future__ import annotations

import msgspec

from mqframe.broker.service import Processor
from mqframe.core.consuming.group_config import SubscriptionGroupConfig
from mqframe.core.requests.admin import GetAllSubscriptionGroupConfig, GetSubscriptionGroupConfig
from mqframe.core.requests.serving import Call, Reply, serves
from mqframe.hooks.table_reply import table_reply


class GroupProcessor(Processor):
    """Shows consumer groups."""

    @serves(GetAllSubscriptionGroupConfig)
    async def all_groups(self, fields: GetAllSubscriptionGroupConfig, call: Call) -> Reply:
        table = self._groups.dump()
        groups = table.subscription_group_table
        ext = {"totalGroupNum": str(len(groups))}
        body = msgspec.structs.replace(table, subscription_group_table={})
        return await table_reply(body, "subscriptionGroupTable", groups.items(), ext=ext)

    @serves(GetSubscriptionGroupConfig)
    def show_group(self, fields: GetSubscriptionGroupConfig, call: Call) -> SubscriptionGroupConfig:
        return self._groups.find(fields.group) or self._groups.need(
            fields.group, self._live.current.auto_create_groups
        )
