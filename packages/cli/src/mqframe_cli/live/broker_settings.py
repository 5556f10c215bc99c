"""Settings of brokers that run: read with their origins, changed, and set back to what the start was told."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final

import attrs

from mqframe.core.config.configuration import DEFAULT
from mqframe.core.config.suggestions import did_you_mean
from mqframe.core.errors import FixedSetting, FixError, SettingError

if TYPE_CHECKING:
    from mqframe_admin.bodies import SettingInForce

    from mqframe import Admin

UNKNOWN: Final = "the broker does not tell"
"""The origin of a setting of a broker that is not one of mqframe."""


def brokers_meant(admin: Admin, names: Collection[str]) -> dict[str, str]:
    """Addresses of brokers by how they are called: of `names`, or of all masters where none is given.

    A name means the master of that name, "host:port" the broker there, which may be a slave. Raises
    `FixError` for a name that is not registered.
    """
    masters = admin.cluster.masters()
    for name in names:
        if name not in masters and ":" not in name:
            near = did_you_mean(name, masters) or f"there are {', '.join(masters)}"
            raise FixError(f"--broker {name}: no broker of that name is registered; {near}")
    return {name: masters.get(name, name) for name in names} if names else masters


def settings_rows(admin: Admin, brokers: Mapping[str, str], *, changed: bool) -> list[dict[str, Any]]:
    """A row for each setting of each of `brokers`; `changed`: of those alone that are not the default."""
    return [
        {
            "broker": broker,
            "setting": each.path,
            "value": each.value,
            "origin": each.origin or UNKNOWN,
            "live": each.live,
            "meaning": each.meaning,
        }
        for broker, address in brokers.items()
        for each in admin.brokers.settings(address)
        if not (changed and each.origin == DEFAULT)
    ]


@attrs.frozen
class SettingChange:
    """What becomes of the setting `name` at some brokers: `value` from now on, or the start's for `None`.

    `found`: the setting of each broker; of one of Apache RocketMQ it may be any.
    """

    name: str
    value: str | None
    brokers: Mapping[str, str]
    found: Mapping[str, SettingInForce]

    def made(self, admin: Admin) -> Iterator[dict[str, Any]]:
        """Make it, broker by broker; yields a row for each that has it. Raises what a call raises."""
        for broker, address in self.brokers.items():
            before = self.found[broker]
            if self.value is not None:
                admin.brokers.update_config(address, {self.name: self.value})
            elif before.changed:
                admin.brokers.update_config(address, {}, unset=[self.name])
            after = next(each for each in admin.brokers.settings(address) if each.key == before.key)
            self._check(broker, before, after)
            yield {
                "broker": broker,
                "setting": after.path,
                "before": before.value,
                "after": after.value,
                "origin": after.origin or UNKNOWN,
            }

    def _check(self, broker: str, before: SettingInForce, after: SettingInForce) -> None:
        """Raise `FixError` where `broker` answered that it is done, and it is not."""
        if self.value is None and after.changed:
            raise FixError(
                f"broker {broker} does not set settings back; set {self.name} to what it should be"
            )
        if self.value is not None and not after.origin and after.value != self.value:
            raise FixError(
                f"broker {broker} took no notice: {self.name} is still {after.value!r}; its log may say why"
            )


def setting_change(admin: Admin, name: str, value: str | None, brokers: Mapping[str, str]) -> SettingChange:
    """The change, which every one of `brokers` can make. Raises `SettingError` where one cannot, and why."""
    found = {broker: _found(admin, name, broker, address) for broker, address in brokers.items()}
    for broker, each in found.items():
        if not each.live:
            raise FixedSetting(
                f"{name} of broker {broker} cannot be changed while it runs; set {each.path} where it is"
                " started (a file, a variable or --set) and restart it"
            )
        if value is None and not each.origin:
            raise SettingError(
                f"broker {broker} is none of mqframe and does not know what it was started with; set {name}"
                " to what it should be"
            )
    return SettingChange(name, value, brokers, found)


def _found(admin: Admin, name: str, broker: str, address: str) -> SettingInForce:
    settings = admin.brokers.settings(address)
    found = next((each for each in settings if each.is_called(name)), None)
    if found is None:
        names = [word for each in settings for word in {each.path, each.key}]
        near = did_you_mean(name, names) or "mqframe config show --broker NAME lists them"
        raise SettingError(f"{name} is no setting of broker {broker}; {near}")
    return found
