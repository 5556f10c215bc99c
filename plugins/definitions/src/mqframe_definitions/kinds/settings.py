"""`[settings."section.key"]`: what brokers are told while they run, as `mqframe config set` does."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, ClassVar

import msgspec

from mqframe.core.config.suggestions import did_you_mean
from mqframe.core.errors import FixedSetting, SettingError
from mqframe_definitions.kind import DefinitionKind

if TYPE_CHECKING:
    from mqframe_admin.bodies import SettingInForce

Value = bool | int | float | str | list[str]


class SettingSpec(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The `value` of a setting at all brokers: a number, true or false, text, or a list of texts."""

    value: Value = ""

    def __post_init__(self) -> None:
        msgspec.structs.force_setattr(self, "value", _plain(self.value))


class Settings(DefinitionKind[SettingSpec]):
    """Settings of brokers that were changed while they ran; what they are started with is no definition."""

    Spec: ClassVar[type[msgspec.Struct]] = SettingSpec
    rank = 5

    def current(self, names: Collection[str] | None) -> Mapping[str, Mapping[str, SettingSpec | None]]:
        """Of each setting the value at each master. All: those that were changed at one of them.

        Raises `SettingError` for a name that is the path of none, and `FixedSetting` for one that only a
        restart changes.
        """
        brokers = {
            broker: self.admin.brokers.settings(address)
            for broker, address in self.admin.cluster.masters().items()
        }
        changed = {each.path for settings in brokers.values() for each in settings if each.changed}
        return {
            name: {broker: _spec_at(name, broker, settings) for broker, settings in brokers.items()}
            for name in sorted(changed.union(names or ()))
        }

    def apply(self, name: str, wanted: SettingSpec, *, new: bool) -> None:
        """Have all masters use the value from now on, after restarts, too."""
        self.current([name])  # finds fault with the name before one of them changes anything
        for address in self.admin.cluster.masters().values():
            self.admin.brokers.update_config(address, {name: _text(wanted.value)})

    def delete(self, name: str) -> None:
        """Undo what was changed: what each master was started with counts again."""
        for address in self.admin.cluster.masters().values():
            self.admin.brokers.update_config(address, {}, unset=[name])


def _spec_at(name: str, broker: str, settings: Collection[SettingInForce]) -> SettingSpec:
    found = next((each for each in settings if each.is_called(name)), None)
    if found is None:
        near = did_you_mean(name, [word for each in settings for word in (each.path, each.key)])
        hint = near or "mqframe config show --broker all lists them"
        raise SettingError(f'[settings."{name}"]: is no setting of broker {broker}; {hint}')
    if found.path != name:
        raise SettingError(
            f'[settings."{name}"]: has the name {found.path} here; write [settings."{found.path}"]'
        )
    if not found.live:
        raise FixedSetting(f'[settings."{name}"]: can only be changed by a restart of broker {broker}')
    return SettingSpec(found.value)


def _plain(value: Value) -> Value:
    """The one form of values that mean the same: brokers tell all as text, files as they like."""
    if isinstance(value, list):
        return ";".join(value)
    if isinstance(value, str):
        if value in ("true", "false"):
            return value == "true"
        try:
            value = float(value) if value.isascii() else value
        except ValueError:
            return value
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _text(value: Value) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
