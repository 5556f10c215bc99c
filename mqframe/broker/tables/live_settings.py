"""The settings of a running broker: what the processors read, and UpdateBrokerConfig changes."""

from __future__ import annotations

from mqframe.broker.settings import BrokerSettings
from mqframe.core.codes import ResponseCode
from mqframe.core.config.live import changed
from mqframe.core.errors import FixedSetting, Refusal, SettingError


class LiveSettings:
    """Holds the settings that are in force now, in `current`."""

    __slots__ = ("current",)

    def __init__(self, settings: BrokerSettings) -> None:
        self.current = settings

    def change(self, lines: str) -> set[str]:
        """Apply `key=value` lines with RocketMQ's names, all or none; returns the names of their fields.

        Raises `FixedSetting` for what only a restart changes, `Refusal` 29 for an unknown key and bad values.
        """
        try:
            self.current, names = changed(self.current, lines)
        except FixedSetting:
            raise
        except SettingError as problem:
            raise Refusal(ResponseCode.INVALID_PARAMETER, str(problem)) from None
        return names
