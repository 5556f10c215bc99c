"""Settings of the running broker (UPDATE_BROKER_CONFIG 25, GET_BROKER_CONFIG 26).

Source: AdminBrokerProcessor.java; its tools look for the keys in `_facts`.
"""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable

from mqframe.broker.admin.saved_changes import not_saved
from mqframe.broker.service import Processor
from mqframe.broker.tables.shared import Shared
from mqframe.core.codes import PERM_INHERIT, PERM_READ, PERM_WRITE, ResponseCode
from mqframe.core.config.live import as_lines
from mqframe.core.errors import Refusal
from mqframe.core.messages.names import DEFAULT_TOPIC, TRACE_TOPIC
from mqframe.core.requests.admin import ExportRocksdbConfigToJson, GetBrokerConfig, UpdateBrokerConfig
from mqframe.core.requests.serving import Call, Reply, serves
from mqframe.core.wire.bodies import DataVersion
from mqframe.core.wire.loose_json import dumps


class ConfigurationProcessor(Processor):
    """Shows the broker's settings and changes those that may change.

    `save`: saves the tables of topics and groups, and says whether they are on disk.
    """

    def __init__(self, shared: Shared, save: Callable[[], Awaitable[bool]]) -> None:
        super().__init__(shared)
        self._messages = shared.store
        self._save = save
        self._version = DataVersion(timestamp=self._clock.now_ms())

    @serves(UpdateBrokerConfig)
    def change_settings(self, fields: UpdateBrokerConfig, call: Call) -> Reply:
        try:
            lines = str(call.frame.body, "utf-8")
        except UnicodeDecodeError as problem:
            raise Refusal(ResponseCode.SYSTEM_ERROR, f"settings are not UTF-8: {problem}") from None
        changed = self._live.change(lines)
        self._messages.change(self._live.store)
        if changed:
            self._version = self._version.next(self._clock.now_ms())
        if "brokerPermission" in changed:
            self._topics.touch()  # name servers must hear of it
        if "autoCreateTopicEnable" in changed and self._live.current.auto_create_topics:
            # The topic that senders look for when theirs has no route: a broker made it at its start, or not.
            queues, perm = self._live.current.default_topic_queues, PERM_READ | PERM_WRITE | PERM_INHERIT
            self._topics.ensure(DEFAULT_TOPIC, queues, perm=perm)
        return Reply()

    @serves(GetBrokerConfig)
    def show_settings(self, fields: GetBrokerConfig, call: Call) -> Reply:
        live = self._live
        body = as_lines(*live.all, more=self._facts()).encode()
        ext = {"version": dumps(self._version).decode()}
        if fields.origins:
            ext["origins"] = dumps(self._live.origins()).decode()
        return Reply(ext=ext, body=body)

    def _facts(self) -> dict[str, str]:
        """What is no setting here but true, under the keys of BrokerConfig and MessageStoreConfig."""
        host, _, port = self._identity.address.rpartition(":")
        return {
            "brokerId": str(self._identity.broker_id),
            "brokerIP1": host.strip("[]"),
            "listenPort": port,
            "brokerRole": self._identity.role,
            "haListenPort": self._identity.replication_address.rpartition(":")[2],
            "slaveReadEnable": str(bool(self._live.replication.slave_reads)).lower(),
            "msgTraceTopicName": TRACE_TOPIC,
            "storePathCommitLog": str(self._live.store.directory / "commitlog"),
            # exportMetrics shows it as the number of processors.
            "clientCallbackExecutorThreads": str(os.cpu_count() or 1),
        }

    @serves(ExportRocksdbConfigToJson)
    async def export_tables(self, fields: ExportRocksdbConfigToJson, call: Call) -> Reply:
        if not await self._save():
            raise not_saved()
        return Reply(remark="tables are JSON files below config/ already")
