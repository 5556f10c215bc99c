"""The settings of a running broker: what the processors read, and UpdateBrokerConfig changes.

What is changed is kept in `config/changedSettings.json`, and counts before all that the next start is told.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, Generic, TypeVar, cast

from mqframe.broker.role_settings import Alone, RoleSettings
from mqframe.broker.settings import BrokerSettings
from mqframe.core.codes import ResponseCode
from mqframe.core.config.live import (
    CHANGED_SETTINGS,
    NOTHING_MORE,
    ChangedSettings,
    changed,
    kept,
    keys_of,
    origins_of,
)
from mqframe.core.errors import FixedSetting, Refusal, SettingError
from mqframe.hooks.dialects import known_keys
from mqframe.log import get_logger
from mqframe.store.settings import StoreSettings

S = TypeVar("S")
log = get_logger("broker")


class LiveSection(Generic[S]):
    """The section of a service, as it is in force now in `current`, and was at the start in `first`."""

    __slots__ = ("current", "first")

    def __init__(self, settings: S) -> None:
        self.current = self.first = settings


class LiveSettings:
    """Holds the settings that are in force now: the broker's in `current`, its store's in `store`, and how
    it is copied in `replication`; those of services in their sections.

    `origins`, `services`: as in `BrokerSections`.
    """

    __slots__ = ("_changed", "_first", "_origins", "_services", "changes", "current", "replication", "store")

    def __init__(
        self,
        settings: BrokerSettings,
        store: StoreSettings | None = None,
        origins: Mapping[str, str] = NOTHING_MORE,
        replication: RoleSettings | None = None,
        services: Iterable[Any] = (),
    ) -> None:
        self.current = settings
        self.store = store or StoreSettings()
        self.replication: RoleSettings = replication or Alone()
        self.changes = 0
        self._first = self.current, self.store, self.replication
        self._origins = origins
        self._changed = ChangedSettings()
        self._services = {type(each): LiveSection(each) for each in services}

    def section(self, kind: type[S]) -> LiveSection[S]:
        """The settings of a service, of the class `kind`; its defaults where nothing else was said."""
        if kind not in self._services:
            self._services[kind] = LiveSection(kind())
        return cast("LiveSection[S]", self._services[kind])

    @property
    def all(self) -> Sequence[Any]:
        """The settings of all sections."""
        return self.current, self.store, self.replication, *(each.current for each in self._services.values())

    def _take(self, groups: Sequence[Any]) -> None:
        self.current, self.store, self.replication, *services = groups
        for section, settings in zip(self._services.values(), services, strict=True):
            section.current = settings

    def change(self, lines: str, note: str = "", unset: Collection[str] = ()) -> set[str]:
        """Undo what was changed of `unset`, and apply `key=value` lines, see `mqframe.core.config.live`.

        All or none; returns the keys. `note`: when and by whom, for `origins`. Raises `FixedSetting` for what
        only a restart changes, `Refusal` 29 for an unknown key and bad values.
        """
        before, groups = self._changed, self.all
        try:
            undone = keys_of(groups, unset, known_keys) & before.settings.keys()
            left = {key: text for key, text in before.settings.items() if key not in undone}
            if undone:
                first = *self._first, *(each.first for each in self._services.values())
                groups = kept(first, ChangedSettings(left))[0]
            groups, texts = changed(groups, lines, known=known_keys)
        except FixedSetting:
            raise
        except SettingError as problem:
            raise Refusal(ResponseCode.INVALID_PARAMETER, str(problem)) from None
        self._take(groups)
        notes = before.notes | dict.fromkeys(texts, note)
        left |= texts
        self._changed = ChangedSettings(left, {key: notes[key] for key in left if notes.get(key)})
        keys = undone | texts.keys()
        self.changes += bool(keys)
        return keys

    def origins(self) -> dict[str, str]:
        """Where each value that is no default comes from, by key."""
        return origins_of(self.all, self._origins) | self._changed.origins(CHANGED_SETTINGS)

    def dump(self) -> ChangedSettings:
        """What was changed, in this run and those before."""
        return self._changed

    def load(self, table: ChangedSettings) -> None:
        """Change what was changed in earlier runs."""
        groups, texts, lost = kept(self.all, table, known_keys)
        self._take(groups)
        self._changed = ChangedSettings(texts, table.notes)
        if texts:
            log.warning("changed settings are in force", changed=texts, kept_in=f"config/{CHANGED_SETTINGS}")
        for reason in lost:
            log.error("a setting that was changed while the broker ran is lost", reason=reason)
