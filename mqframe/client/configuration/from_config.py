"""Clients made from a configuration: a TOML file, the environment, and what the code says itself."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar, Final, Self

from mqframe.core.errors import SettingError

FILE: Final = "mqframe.toml"
"""Read from the working folder when no file is named and this one is there."""


class ConfigSource:
    """Where the arguments of one client come from; looked at again when they may have changed.

    `section`: a key of `mqframe.client.configuration.sections.client_kinds()`; else as
    `Configurable.from_config`.
    """

    def __init__(self, section: str, file: str | Path | None, profile: str, given: Mapping[str, Any]) -> None:
        if file is None and Path(FILE).is_file():
            file = FILE
        # A program may go to another folder while it runs.
        self.file = None if file is None else Path(file).absolute()
        self.section = section
        self._name = FILE if file is None else str(file)
        self._profile = profile
        self._given = given
        self._mark = self._look()

    def changed(self) -> bool:
        """Whether the file is another one than when this was asked last, or the source was made."""
        before, self._mark = self._mark, self._look()
        return self._mark is not None and self._mark != before

    def _look(self) -> tuple[int, ...] | None:
        try:
            found = os.stat(self.file or "")
        except OSError:
            return None  # it is being replaced
        return found.st_ino, found.st_mtime_ns, found.st_size

    def arguments(self, cls: type[Any]) -> dict[str, Any]:
        """The arguments for the constructor of `cls`. Raises `SettingError`."""
        # Imported when a configuration is read: clients made by their constructors need nothing of it.
        from mqframe.client.configuration.arguments import Sources, arguments_of

        return arguments_of(cls, Sources(self.section, self._profile, self.file, self._name, self._given))


class Configurable:
    """A client that can be made from a configuration."""

    _section: ClassVar[str]
    """Its section, a key of `mqframe.client.configuration.sections.client_kinds`."""

    @classmethod
    def from_config(
        cls, file: str | Path | None = None, profile: str = "", *, watch: float = 0.0, **arguments: Any
    ) -> Self:
        """A client as a configuration describes it.

            PushConsumer.from_config("app.toml", "billing", consume_threads=4)

        `file`: TOML; by default `mqframe.toml` in the working folder, if it is there. `profile`: which table
        `[section.profile]` counts besides `[section]`. `arguments`: arguments of the constructor, and single
        settings of its section. These come first, then variables of the environment
        (`MQFRAME_<SECTION>_<KEY>`; NAMESRV_ADDR is one for `client.nameserver`), then the file, then the
        defaults; strategies get the options of their `[plugins.<name>]`, wherever they are chosen. Raises
        `SettingError` for unknown keys and bad values, naming where they came from, and what the constructor
        raises.

        `watch`: how often a running consumer looks whether the file has another allocation strategy, or other
        options for it, and takes that without a stop, s; 0: never. Other changes wait for a restart. A file
        that cannot be used is logged, and nothing changes.
        """
        source = ConfigSource(cls._section, file, profile, arguments)
        client = cls(**source.arguments(cls))
        if watch:
            client._watch(source, watch)
        return client

    def _watch(self, source: ConfigSource, seconds: float) -> None:
        """Look at `source` every `seconds` while it runs. Raises `SettingError` where that is vain."""
        raise SettingError(
            f"watch: nothing of {type(self).__name__} changes while it runs; consumers that share queues"
            " can change their allocation"
        )
