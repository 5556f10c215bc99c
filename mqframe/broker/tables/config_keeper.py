"""Saves the broker's tables into `config/` and loads them (store.md §5)."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import attrs

from mqframe.broker.tables.long_bodies import Rewritten, body_parts
from mqframe.core.errors import StoreError
from mqframe.core.os_errors import told
from mqframe.core.wire.bodies import Body
from mqframe.core.wire.loose_json import decode
from mqframe.hooks.interfaces.broker_service import Table
from mqframe.log import get_logger
from mqframe.store.files.config_file import ConfigFile

log = get_logger("broker")


@attrs.define
class _Kept:
    """A table with its file; `saved` is what `changes` was when it was saved last.

    `vital`: whether a broker does not start without what was saved.
    """

    file: ConfigFile
    kind: type[Body]
    table: Table
    saved: int
    vital: bool
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
        self._withheld = False
        self._loads = True
        # One thread, so that an older state never replaces a newer one.
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="mqframe-config")

    def keep(
        self, name: str, kind: type[Body], table: Table, *, at_once: bool = False, vital: bool = True
    ) -> None:
        """Keep `table`, whose `dump` gives a `kind`, in the file called `name`.

        `vital`: False for what is lost without harm when it cannot be read.
        """
        # What is kept at once is written at the first start, so that the file is there for tools.
        kept = _Kept(ConfigFile(self._directory / name), kind, table, -1 if at_once else 0, vital)
        (self._at_once if at_once else self._in_time).append(kept)

    @property
    def names(self) -> set[str]:
        """The files that tables are kept in."""
        return {kept.file.path.name for kept in self._at_once + self._in_time}

    def load(self) -> None:
        """Take over what was saved by this broker or by another one of this kind.

        Raises `StoreError` when something was saved that cannot be read; nothing is saved from then on.
        """
        self._loads = False
        for kept in self._at_once + self._in_time:
            self._load(kept)
        self._loads = True

    @property
    def has_unsaved_tables(self) -> bool:
        """Whether a table that is kept at once changed since it was saved."""
        return any(kept.saved != kept.table.changes for kept in self._at_once)

    def save_tables(self) -> bool:
        """Save the tables kept at once that changed; whether all are on disk now."""
        for kept in self._at_once:
            changes = kept.table.changes
            if kept.saved != changes and self._write(kept.file, kept.rewritten.text(kept.table.dump())):
                kept.saved = changes
        return not self.has_unsaved_tables

    async def save_rest(self, log_flushed: Callable[[], Awaitable[bool]]) -> bool:
        """Save the other tables that changed; the disk is waited for in a thread. Whether all are saved.

        `log_flushed`: brings to disk what the log holds when it is called, and says whether it is there.
        Progress is saved only behind it: a table that speaks of records which a power cut took would let the
        records that follow them in their place be passed over.
        """
        loop = asyncio.get_running_loop()
        # Written out before the flush is waited for: it holds all that they speak of.
        changed = []
        for kept in self._in_time:
            changes = kept.table.changes
            if kept.saved != changes:
                changed.append((kept, changes, b"".join(await body_parts(kept.table.dump()))))
        if not changed:
            return True
        if not await log_flushed():
            if not self._withheld:
                log.error("progress is not saved any more: the log that it speaks of is not on disk")
            self._withheld = True
            return False
        for kept, changes, content in changed:
            if await loop.run_in_executor(self._thread, self._write, kept.file, content):
                kept.saved = changes
        return all(kept.saved == changes for kept, changes, _ in changed)

    def close(self) -> None:
        """Wait for what is being saved."""
        self._thread.shutdown()

    def _load(self, kept: _Kept) -> None:
        try:
            kept.file.load(lambda raw: kept.table.load(decode(raw, kept.kind)))
        except StoreError:
            if kept.vital:
                raise

    def _write(self, file: ConfigFile, content: bytes) -> bool:
        if not self._loads:
            return False  # what could not be read is there to be mended, not to be written over
        try:
            file.save(content)
        except OSError as problem:
            log.error("configuration was not saved", file=str(file.path), problem=told(problem))
            return False
        return True
