"""Key-value configuration by namespace, kept in `kvConfig.json` (source: KVConfigManager.java)."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from mqframe.core.measuring.budget import admit_all
from mqframe.core.wire import loose_json
from mqframe.core.wire.bodies import Body
from mqframe.store.files.config_file import ConfigFile

LEARNT_ORDER_NAMESPACE = "MQFRAME_LEARNT_ORDER"
"""Holds the queue lists of topics that brokers registered as ordered, for the time that a broker is away."""


class _File(Body):
    config_table: dict[str, dict[str, str]] = {}


class KvConfig:
    """The table, written through to `directory`/kvConfig.json when a directory is given.

    `entries`: values of all namespaces; `admit`: raises where there is no room for so many more.
    """

    def __init__(self, directory: Path | None) -> None:
        self._file = None if directory is None else ConfigFile(directory / "kvConfig.json")
        self._table: dict[str, dict[str, str]] = {}
        self.entries = 0
        self.admit: Callable[[int], None] = admit_all

    def load(self) -> None:
        """Read the file, or, where it cannot be read, the copy of the version before it."""
        kept = self._file and self._file.load(lambda raw: loose_json.decode(raw, _File))
        if kept:
            self._table = kept.config_table
            self.entries = sum(map(len, self._table.values()))

    def put(self, namespace: str, key: str, value: str) -> None:
        """Store one value. Raises `OSError` when it cannot be kept, `Refusal` when there is no room."""
        self.note(namespace, key, value)
        self.save()

    def note(self, namespace: str, key: str, value: str | None) -> None:
        """Change one value, or remove it (`None`), without saving. Raises `Refusal` when there is no room."""
        table = self._table.get(namespace, {})
        if value is None:
            self.entries -= table.pop(key, None) is not None
            return
        if key not in table:
            self.admit(1)
            self.entries += 1
        self._table.setdefault(namespace, {})[key] = value

    def get(self, namespace: str, key: str) -> str | None:
        """One value."""
        return self._table.get(namespace, {}).get(key)

    def delete(self, namespace: str, key: str) -> None:
        """Remove one value. Raises `OSError` when that cannot be kept."""
        if self.get(namespace, key) is not None:
            self.note(namespace, key, None)
            self.save()

    def namespace(self, namespace: str) -> dict[str, str] | None:
        """All values of a namespace, `None` where it was never used."""
        return self._table.get(namespace)

    def save(self) -> None:
        """Keep everything. Raises `OSError` when that cannot be."""
        if self._file is not None:
            self._file.save(loose_json.dumps(_File(self._table)))
