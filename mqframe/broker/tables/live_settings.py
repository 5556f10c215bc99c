"""The settings of a running broker: what the processors read, and UpdateBrokerConfig changes.

What is changed is kept in `config/changedSettings.json`, and counts before all that the next start is told.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from mqframe.broker.settings import BrokerSettings
from mqframe.core.codes import ResponseCode
from mqframe.core.config.live import (
    CHANGED_SETTINGS,
    NOTHING_MORE,
    ChangedSettings,
    changed,
    kept,
    origins_of,
)
from mqframe.core.errors import FixedSetting, Refusal, SettingError
from mqframe.log import get_logger
from mqframe.replication.settings import ReplicationSettings
from mqframe.store.settings import StoreSettings

log = get_logger("broker")


class LiveSettings:
    """Holds the settings that are in force now: the broker's in `current`, its store's in `store`, and how
    it is copied in `replication`.

    `origins`: as in `BrokerSections`.
    """

    __slots__ = ("_origins", "_texts", "changes", "current", "replication", "store")

    def __init__(
        self,
        settings: BrokerSettings,
        store: StoreSettings | None = None,
        origins: Mapping[str, str] = NOTHING_MORE,
        replication: ReplicationSettings | None = None,
    ) -> None:
        self.current = settings
        self.store = store or StoreSettings()
        self.replication = replication or ReplicationSettings()
        self.changes = 0
        self._origins = origins
        self._texts: dict[str, str] = {}

    @property
    def _groups(self) -> Sequence[Any]:
        return self.current, self.store, self.replication

    @_groups.setter
    def _groups(self, groups: Sequence[Any]) -> None:
        self.current, self.store, self.replication = groups

    def change(self, lines: str) -> set[str]:
        """Apply `key=value` lines with RocketMQ's names, all or none; returns these names.

        Raises `FixedSetting` for what only a restart changes, `Refusal` 29 for an unknown key and bad values.
        """
        try:
            groups, texts = changed(self._groups, lines)
        except FixedSetting:
            raise
        except SettingError as problem:
            raise Refusal(ResponseCode.INVALID_PARAMETER, str(problem)) from None
        self._groups = groups
        self._texts |= texts
        self.changes += bool(texts)
        return set(texts)

    def origins(self) -> dict[str, str]:
        """Where each value that is no default comes from, by RocketMQ's keys."""
        named = origins_of(self._groups, self._origins)
        return named | dict.fromkeys(self._texts, f"changed while it ran, {CHANGED_SETTINGS}")

    def dump(self) -> ChangedSettings:
        """What was changed, in this run and those before."""
        return ChangedSettings(dict(self._texts))

    def load(self, table: ChangedSettings) -> None:
        """Change what was changed in earlier runs."""
        self._groups, self._texts, lost = kept(self._groups, table)
        if self._texts:
            log.warning(
                "changed settings are in force", changed=self._texts, kept_in=f"config/{CHANGED_SETTINGS}"
            )
        for reason in lost:
            log.error("a setting that was changed while the broker ran is lost", reason=reason)
