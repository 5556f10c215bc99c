"""The settings of a running name server, which UPDATE_NAMESRV_CONFIG changes and GET_NAMESRV_CONFIG shows."""

from __future__ import annotations

from typing import Final

from mqframe.core.config.live import CHANGED_SETTINGS, ChangedSettings, as_lines, changed, kept
from mqframe.core.wire import loose_json
from mqframe.hooks.dialects import known_keys
from mqframe.log import get_logger
from mqframe.nameserver.settings import NameServerSettings
from mqframe.store.files.config_file import ConfigFile

log = get_logger("nameserver")
PROTECTED: Final = ("configBlackList", "configStorePath", "kvConfigPath", "rocketmqHome")
"""Keys that only a restart changes at Apache's name server (NamesrvConfig.java), and that are none here."""


class LiveNameServerSettings:
    """Holds the settings that are in force, in `current`.

    With a directory, what is changed is kept in changedSettings.json there, and counts before all that the
    next start is told.
    """

    def __init__(self, settings: NameServerSettings) -> None:
        self.current = settings
        self._texts: dict[str, str] = {}
        directory = settings.directory
        self._file = None if directory is None else ConfigFile(directory / CHANGED_SETTINGS)

    def load(self) -> None:
        """Change what was changed in earlier runs. Raises `StoreError` when it cannot be read."""
        if self._file is None:
            return
        saved = self._file.load(lambda raw: loose_json.decode(raw, ChangedSettings))
        if saved is None:
            return
        (self.current,), self._texts, lost = kept((self.current,), saved, known_keys)
        if self._texts:
            log.warning("changed settings are in force", changed=self._texts, kept_in=str(self._file.path))
        for reason in lost:
            log.error("a setting that was changed while the name server ran is lost", reason=reason)

    def change(self, lines: str) -> None:
        """Apply `key=value` lines with RocketMQ's names, all or none.

        Raises `SettingError`, and OSError when the change cannot be kept; it is not made then.
        """
        (made,), texts = changed((self.current,), lines, PROTECTED, known_keys)
        together = self._texts | texts
        if self._file is not None and texts:
            self._file.save(loose_json.dumps(ChangedSettings(together)))
        self.current, self._texts = made, together

    def lines(self, port: int) -> str:
        """All settings as `key=value` lines; `port`: the one that is listened on."""
        more = {"listenPort": str(port)}
        if self._file is not None:
            folder = self._file.path.parent
            more["rocketmqHome"] = str(folder)  # tools look for where a name server keeps its files
            more["kvConfigPath"] = str(folder / "kvConfig.json")
            more["configStorePath"] = str(self._file.path)
        return as_lines(self.current, more=more)
