"""Consumer groups by hand: 200, 201, 207, 225, 352 (source: AdminBrokerProcessor.java)."""

from __future__ import annotations

from mqframe.broker.live_settings import LiveSettings
from mqframe.broker.part import Part
from mqframe.broker.statistics import Statistics
from mqframe.core.bodies import GroupConfigList, SubscriptionGroupConfig
from mqframe.core.codes import ResponseCode
from mqframe.core.errors import Refusal
from mqframe.core.group_table import GroupTable
from mqframe.core.loosejson import decode, dumps
from mqframe.core.offset_table import OffsetTable
from mqframe.core.requests.admin import DeleteSubscriptionGroup, GetSubscriptionGroupConfig
from mqframe.net.call import Call, Handler, Reply


class GroupProcessor(Part):
    """Makes, changes, shows and deletes consumer groups."""

    def __init__(
        self, groups: GroupTable, offsets: OffsetTable, live: LiveSettings, statistics: Statistics
    ) -> None:
        self._groups = groups
        self._offsets = offsets
        self._live = live
        self._statistics = statistics

    def handlers(self) -> dict[int, Handler]:
        """The codes served here."""
        return {200: self._put, 201: self._all, 207: self._delete, 225: self._put_list, 352: self._show}

    def _put(self, call: Call) -> Reply:
        self._groups.put(decode(memoryview(call.frame.body), SubscriptionGroupConfig))
        return Reply()

    def _put_list(self, call: Call) -> Reply:
        for group in decode(memoryview(call.frame.body), GroupConfigList).group_config_list:
            self._groups.put(group)
        return Reply()

    def _all(self, call: Call) -> Reply:
        table = self._groups.dump()
        return Reply(ext={"totalGroupNum": str(len(table.subscription_group_table))}, body=dumps(table))

    def _show(self, call: Call) -> Reply:
        name = call.fields(GetSubscriptionGroupConfig).group
        group = self._groups.find_or_create(name, self._live.current.auto_create_groups)
        if group is None:
            raise Refusal(ResponseCode.SUBSCRIPTION_GROUP_NOT_EXIST, f"consumer group {name} does not exist")
        return Reply(body=dumps(group))

    def _delete(self, call: Call) -> Reply:
        fields = call.fields(DeleteSubscriptionGroup)
        self._groups.remove(fields.group_name)
        self._statistics.forget_group(fields.group_name)
        if fields.clean_offset:
            self._offsets.remove_group(fields.group_name)
        return Reply()
