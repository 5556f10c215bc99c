"""Settings of the running broker (UPDATE_BROKER_CONFIG 25, GET_BROKER_CONFIG 26).

Source: AdminBrokerProcessor.java; its tools look for the keys in `_facts`.
"""

from __future__ import annotations

import os
from datetime import UTC, datetime
from typing import Any

import attrs

from mqframe.core.codes import ResponseCode
from mqframe.core.config.configuration import DEFAULT
from mqframe.core.config.live import CHANGED, as_lines, as_text, key_of
from mqframe.core.config.settings import told
from mqframe.core.errors import Refusal
from mqframe.core.messages.names import TRACE_TOPIC
from mqframe.core.requests.lasting import not_saved
from mqframe.core.requests.serving import Call, Reply, serves
from mqframe.core.wire.bodies import DataVersion
from mqframe.core.wire.loose_json import dumps
from mqframe.hooks.interfaces import BrokerPort
from mqframe_admin.bodies import SettingInForce, ToldSettings
from mqframe_admin.broker.processor import AdminProcessor
from mqframe_admin.requests import (
    ExportRocksdbConfigToJson,
    GetBrokerConfig,
    GetSettings,
    HandOverLead,
    UpdateBrokerConfig,
)


class ConfigurationProcessor(AdminProcessor):
    """Shows the broker's settings and changes those that may change."""

    def __init__(self, port: BrokerPort) -> None:
        super().__init__(port)
        self._directory = port.directory
        self._version = DataVersion(timestamp=self._clock.now_ms())

    @serves(UpdateBrokerConfig)
    def change_settings(self, fields: UpdateBrokerConfig, call: Call) -> Reply:
        try:
            lines = str(call.frame.body, "utf-8")
        except UnicodeDecodeError as problem:
            raise Refusal(ResponseCode.SYSTEM_ERROR, f"settings are not UTF-8: {problem}") from None
        unset = [name.strip() for name in (fields.unset or "").split(";") if name.strip()]
        if self._settings.change(lines, self._note(call), unset):
            self._version = self._version.next(self._clock.now_ms())
        return Reply()

    def _note(self, call: Call) -> str:
        """When a change is made, and by whom."""
        now = datetime.fromtimestamp(self._clock.now_ms() / 1000, UTC).isoformat(" ", "seconds")
        host = call.peer.address.rpartition(":")[0]
        return " ".join(
            ["at", now, *(["by", call.user] if call.user else []), *(["from", host] if host else [])]
        )

    @serves(GetSettings)
    def tell_settings(self, fields: GetSettings, call: Call) -> ToldSettings:
        origins = self._settings.origins()
        return ToldSettings(
            [
                _in_force(section, field, origins.get(key_of(section, field), DEFAULT))
                for section in self._settings.sections
                for field in attrs.fields(type(section))
                if "doc" in field.metadata
            ]
        )

    @serves(GetBrokerConfig)
    def show_settings(self, fields: GetBrokerConfig, call: Call) -> Reply:
        body = as_lines(*self._settings.sections, more=self._facts()).encode()
        ext = {"version": dumps(self._version).decode()}
        if fields.origins:
            ext["origins"] = dumps(self._settings.origins()).decode()
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
            "slaveReadEnable": str(self._settings.slave_reads).lower(),
            "msgTraceTopicName": TRACE_TOPIC,
            "storePathCommitLog": str(self._directory / "commitlog"),
            # exportMetrics shows it as the number of processors.
            "clientCallbackExecutorThreads": str(os.cpu_count() or 1),
        }

    @serves(HandOverLead)
    def hand_over(self, fields: HandOverLead, call: Call) -> None:
        # Brokers of elected groups put their own answers in the place of this one.
        raise Refusal(
            ResponseCode.SYSTEM_ERROR,
            "this broker is of no group that elects its leader (replication.role = ELECTED); roles that are"
            " set by hand are changed by mqframe replica demote and promote",
        )

    @serves(ExportRocksdbConfigToJson)
    async def export_tables(self, fields: ExportRocksdbConfigToJson, call: Call) -> Reply:
        if not await self._save():
            raise not_saved()
        return Reply(remark="tables are JSON files below config/ already")


def _in_force(section: Any, field: attrs.Attribute[Any], origin: str) -> SettingInForce:
    return SettingInForce(
        path=f"{section.SECTION}.{field.name}",
        key=key_of(section, field),
        value=as_text(told(field, getattr(section, field.name))),
        origin=origin,
        live=field.metadata["live"],
        changed=origin.startswith(CHANGED),
        former=list(field.metadata["was"]),
        meaning=field.metadata["doc"],
    )
