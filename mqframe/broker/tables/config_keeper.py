"""Saves the broker's tables into `config/` and loads them (store.md §5)."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Collection
from concurrent.futures import Executor, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import attrs

from mqframe.broker.tables.long_bodies import Rewritten, body_parts
from mqframe.broker.tables.shared_saves import SharedSaves
from mqframe.core.clock import Clock
from mqframe.core.errors import StoreError
from mqframe.core.os_errors import told
from mqframe.core.wire.bodies import Body
from mqframe.core.wire.loose_json import decode
from mqframe.hooks.interfaces.broker_service import Table
from mqframe.log import get_logger
from mqframe.store.files.config_file import ConfigFile
from mqframe.trouble import Troubles

log = get_logger("broker")


@attrs.define(eq=False)
class KeptTable:
    """A table with its file, and what became of its changes: numbers are of `table.changes`.

    `vital`: whether a broker does not start without what was saved; `on_disk`: what `dump` gave when it was
    saved last, `None` before.
    """

    file: ConfigFile
    kind: type[Body]
    table: Table
    vital: bool
    saved: int
    begun: int
    seen: int = 0
    on_disk: Any = None
    rewritten: Rewritten = attrs.Factory(Rewritten)

    @property
    def is_begun(self) -> bool:
        """Whether a save was begun that had all changes."""
        return self.begun == self.table.changes


class ConfigKeeper:
    """Keeps tables as files below `directory`.

    Those kept `at_once` are saved before an answer leaves that tells of a change, the others from time to
    time, which loses little that matters when the broker is killed. Neither holds up the loop: tables are
    written out in slices, and a thread waits for the disk. Changes that come while one save is under way
    share the next.
    """

    def __init__(self, directory: Path, clock: Clock) -> None:
        self._directory = directory
        self._unsaved = Troubles(log, clock.monotonic, level=logging.ERROR)
        self._at_once: list[KeptTable] = []
        self._in_time: list[KeptTable] = []
        self._withheld = False
        self._loads = True
        self._answers_wait = False
        self._one_rest = asyncio.Lock()
        self.missing: set[str] = set()
        """The files that were not there when tables were loaded, nor their copies."""
        self.thread: Executor = ThreadPoolExecutor(1, thread_name_prefix="mqframe-config")
        """Writes files, one after the other, so that an older state never replaces a newer one."""
        self._saves = SharedSaves(self._save_at_once)
        self.on_saved: Callable[[], object] = lambda: None
        """Called when all tables that are kept at once are on disk as they were when that save began."""

    def keep(
        self, name: str, kind: type[Body], table: Table, *, at_once: bool = False, vital: bool = True
    ) -> KeptTable:
        """Keep `table`, whose `dump` gives a `kind`, in the file called `name`.

        `vital`: False for what is lost without harm when it cannot be read.
        """
        # What is kept at once is written at the first start, so that the file is there for tools.
        never = -1 if at_once else 0
        kept = KeptTable(ConfigFile(self._directory / name), kind, table, vital, never, never)
        (self._at_once if at_once else self._in_time).append(kept)
        return kept

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
            if kept.file.is_missing:
                self.missing.add(kept.file.path.name)
            self._load(kept)
        self._loads = True

    def make(self, names: Collection[str]) -> None:
        """Have the next save make those of the files called `names` that were missing, whatever they hold."""
        for kept in self._in_time:
            if kept.file.path.name in self.missing.intersection(names):
                kept.saved = kept.begun = -1

    async def save_tables(self) -> bool:
        """Wait until the tables kept at once are on disk as they are now; whether they are."""
        saved = self._covering_save()
        return saved is None or await asyncio.shield(saved)

    def wait_for(self, kept: KeptTable) -> bool:
        """The answers of this turn tell of what is not on disk of `kept`: they wait, if it is still to come.

        False where a save had it and failed: nothing is waited for then.
        """
        if kept.is_begun and not self._saves.active:
            return False
        self._answers_wait = True
        return True

    def end_turn(self) -> asyncio.Future[bool] | None:
        """What the answers of this turn wait for: whether what they tell of was saved. `None`: nothing.

        A change that could not be saved holds up no later turn; it is tried again with the next one.
        """
        waits, self._answers_wait = self._answers_wait, False
        for kept in self._at_once:
            changes = kept.table.changes
            if kept.seen != changes:
                kept.seen = changes
                waits = True
        return self._covering_save() if waits else None

    def _covering_save(self) -> asyncio.Future[bool] | None:
        """The save that has all changes made until now; `None` when they are on disk."""
        if all(kept.saved == kept.table.changes for kept in self._at_once):
            return None
        begun = all(kept.is_begun for kept in self._at_once)
        return (self._saves.current if begun else None) or self._saves.ask()

    async def _save_at_once(self) -> bool:
        changed = []
        for kept in self._at_once:
            kept.begun = kept.table.changes
            if kept.saved != kept.begun:
                changed.append((kept, kept.begun, kept.table.dump()))
        saved = True
        for kept, changes, body in changed:
            if await self._write_in_thread(kept.file, await body_parts(body, kept.rewritten)):
                kept.saved, kept.on_disk = changes, body
            else:
                saved = False
        if saved:
            self.on_saved()
        return saved

    async def save_rest(self, log_flushed: Callable[[], Awaitable[bool]]) -> bool:
        """Save the other tables that changed; the disk is waited for in a thread. Whether all are saved.

        `log_flushed`: brings to disk what the log holds when it is called, and says whether it is there.
        Progress is saved only behind it: a table that speaks of records which a power cut took would let the
        records that follow them in their place be passed over.
        """
        async with self._one_rest:  # of two at once the older could be written last
            return await self._save_rest(log_flushed)

    async def _save_rest(self, log_flushed: Callable[[], Awaitable[bool]]) -> bool:
        # Written out before the flush is waited for: it holds all that they speak of.
        changed = []
        for kept in self._in_time:
            changes = kept.table.changes
            if kept.saved != changes:
                changed.append((kept, changes, await body_parts(kept.table.dump())))
        if not changed:
            return True
        if not await log_flushed():
            if not self._withheld:
                log.error("progress is not saved any more: the log that it speaks of is not on disk")
            self._withheld = True
            return False
        for kept, changes, parts in changed:
            if await self._write_in_thread(kept.file, parts):
                kept.saved = changes
        return all(kept.saved == changes for kept, changes, _ in changed)

    def close(self) -> None:
        """Wait for what the thread writes; whoever waits for a save that did not end is cancelled."""
        self._saves.cancel()
        self.thread.shutdown()

    def _load(self, kept: KeptTable) -> None:
        try:
            kept.file.load(lambda raw: kept.table.load(decode(raw, kept.kind)))
        except StoreError:
            if kept.vital:
                raise

    async def _write_in_thread(self, file: ConfigFile, parts: list[bytes]) -> bool:
        return await asyncio.get_running_loop().run_in_executor(self.thread, self._write, file, parts)

    def _write(self, file: ConfigFile, parts: list[bytes]) -> bool:
        if not self._loads:
            return False  # what could not be read is there to be mended, not to be written over
        try:
            file.save(b"".join(parts))
        except OSError as problem:
            name, words = str(file.path), told(problem)
            self._unsaved.of(name).note("configuration was not saved", file=name, problem=words)
            return False
        self._unsaved.over(str(file.path), "configuration is saved again", file=str(file.path))
        return True
