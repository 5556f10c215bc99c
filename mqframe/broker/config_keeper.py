"""Saves the broker's tables into `config/` and loads them (store.md §5)."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Protocol, TypeVar

from mqframe.core.bodies import Body, ConsumerOffsetTable, SubscriptionGroupTable, TopicConfigTable
from mqframe.core.group_table import GroupTable
from mqframe.core.loosejson import decode, dumps
from mqframe.core.offset_table import OffsetTable
from mqframe.core.topic_table import TopicTable
from mqframe.log import get_logger
from mqframe.store.config_file import ConfigFile

log = get_logger("broker")
B = TypeVar("B", bound=Body)


class _Table(Protocol):
    changes: int

    def dump(self) -> Any: ...


class ConfigKeeper:
    """Keeps `topics.json`, `subscriptionGroup.json` and `consumerOffset.json` below `directory`."""

    def __init__(self, directory: Path, topics: TopicTable, groups: GroupTable, offsets: OffsetTable) -> None:
        self._topics = topics
        self._groups = groups
        self._offsets = offsets
        self._files = {
            "topics": ConfigFile(directory / "topics.json"),
            "groups": ConfigFile(directory / "subscriptionGroup.json"),
            "offsets": ConfigFile(directory / "consumerOffset.json"),
        }
        # One thread, so that an older state never replaces a newer one.
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="mqframe-config")
        self._saved = {"topics": -1, "groups": -1, "offsets": 0}

    def load(self) -> None:
        """Take over what was saved by this broker or by another one of this kind."""
        self._load("topics", TopicConfigTable, self._topics.load)
        self._load("groups", SubscriptionGroupTable, self._groups.load)
        self._load("offsets", ConsumerOffsetTable, self._offsets.load)

    @property
    def has_unsaved_tables(self) -> bool:
        """Whether topics or groups changed since they were saved."""
        return self._saved["topics"] != self._topics.changes or self._saved["groups"] != self._groups.changes

    def save_tables(self) -> None:
        """Save topics and groups if they changed."""
        self._save("topics", self._topics)
        self._save("groups", self._groups)

    async def save_offsets(self) -> None:
        """Save consumer offsets if they changed; the disk is waited for in a thread."""
        changes = self._offsets.changes
        if self._saved["offsets"] == changes:
            return
        content = dumps(self._offsets.dump())
        loop = asyncio.get_running_loop()
        if await loop.run_in_executor(self._thread, self._write, self._files["offsets"], content):
            self._saved["offsets"] = changes

    def close(self) -> None:
        """Wait for what is being saved."""
        self._thread.shutdown()

    def _load(self, name: str, kind: type[B], take: Callable[[B], None]) -> None:
        loaded = self._files[name].load(lambda raw: decode(raw, kind))
        if loaded is not None:
            take(loaded)

    def _save(self, name: str, table: _Table) -> None:
        changes = table.changes
        if self._saved[name] == changes:
            return
        if self._write(self._files[name], dumps(table.dump())):
            self._saved[name] = changes

    def _write(self, file: ConfigFile, content: bytes) -> bool:
        try:
            file.save(content)
        except OSError as problem:
            log.error("configuration was not saved", file=str(file.path), problem=str(problem))
            return False
        return True
