"""Saves the broker's tables into `config/` and loads them (store.md §5)."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import attrs

from mqframe.broker.tables.long_bodies import Rewritten, body_parts
from mqframe.core.wire.bodies import Body
from mqframe.core.wire.loose_json import decode
from mqframe.hooks.interfaces.broker_service import Table
from mqframe.log import get_logger
from mqframe.store.files.config_file import ConfigFile

log = get_logger("broker")


@attrs.define
class _Kept:
    """A table with its file; `saved` is what `changes` was when it was saved last."""

    file: ConfigFile
    kind: type[Body]
    table: Table
    saved: int
    rewritten: Rewritten = attrs.Factory(Rewritten)


class ConfigKeeper:
    """Keeps tables as files below `directory`.

    Those kept `at_once` are saved before an answer leaves that tells of a change, the others from time to
    time, which loses little that matters when the broker is killed.
    """

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._at_once: list[_Kept] = []
        self._in_time: list[_Kept] = []
        # One thread, so that an older state never replaces a newer one.
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="mqframe-config")

    def keep(self, name: str, kind: type[Body], table: Table, *, at_once: bool = False) -> None:
        """Keep `table`, whose `dump` gives a `kind`, in the file called `name`."""
        # What is kept at once is written at the first start, so that the file is there for tools.
        kept = _Kept(ConfigFile(self._directory / name), kind, table, -1 if at_once else 0)
        (self._at_once if at_once else self._in_time).append(kept)

    @property
    def names(self) -> set[str]:
        """The files that tables are kept in."""
        return {kept.file.path.name for kept in self._at_once + self._in_time}

    def load(self) -> None:
        """Take over what was saved by this broker or by another one of this kind."""
        for kept in self._at_once + self._in_time:
            self._load(kept)

    @property
    def has_unsaved_tables(self) -> bool:
        """Whether a table that is kept at once changed since it was saved."""
        return any(kept.saved != kept.table.changes for kept in self._at_once)

    def save_tables(self) -> None:
        """Save the tables kept at once that changed."""
        for kept in self._at_once:
            changes = kept.table.changes
            if kept.saved != changes and self._write(kept.file, kept.rewritten.text(kept.table.dump())):
                kept.saved = changes

    async def save_rest(self) -> None:
        """Save the other tables that changed; the disk is waited for in a thread."""
        loop = asyncio.get_running_loop()
        for kept in self._in_time:
            changes = kept.table.changes
            if kept.saved == changes:
                continue
            content = b"".join(await body_parts(kept.table.dump()))
            if await loop.run_in_executor(self._thread, self._write, kept.file, content):
                kept.saved = changes

    def close(self) -> None:
        """Wait for what is being saved."""
        self._thread.shutdown()

    def _load(self, kept: _Kept) -> None:
        loaded = kept.file.load(lambda raw: decode(raw, kept.kind))
        if loaded is not None:
            kept.table.load(loaded)

    def _write(self, file: ConfigFile, content: bytes) -> bool:
        try:
            file.save(content)
        except OSError as problem:
            log.error("configuration was not saved", file=str(file.path), problem=str(problem))
            return False
        return True
