"""Which services a broker has."""

from __future__ import annotations

from typing import Final

from mqframe.broker.settings import BrokerSettings
from mqframe.core.config.programs import STANDARD_SERVICES
from mqframe.core.errors import SettingError
from mqframe.hooks.manager import PluginManager

KIND: Final = "broker_service"
BUILT_IN: Final[tuple[str, ...]] = STANDARD_SERVICES
"""The broker's own services, as far as they are installed, unless they are left out."""


def service_names(settings: BrokerSettings, plugins: PluginManager) -> list[str]:
    """Which services a broker has: its own, unless they are left out, then those that `settings` name.

    Raises `SettingError` where one is both wanted and left out, or is none of the broker's own.
    """
    out = settings.services_blocked
    for name in out:
        if name not in BUILT_IN:
            raise SettingError(
                f"broker.services_blocked = {name}: only the broker's own services have to be left out"
                f" ({', '.join(BUILT_IN)}); others are there where broker.services names them"
            )
        if name in settings.services:
            raise SettingError(
                f"{name} is in broker.services and in broker.services_blocked: name it in one of them"
            )
    known = plugins.names(KIND)
    own = [name for name in BUILT_IN if name in known and name not in out]
    return [*own, *(name for name in settings.services if name not in own)]
