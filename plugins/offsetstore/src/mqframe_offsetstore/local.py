"""Offsets in a JSON file, in the place and form of LocalFileOffsetStore.java. For broadcasting consumers."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Collection
from pathlib import Path

from mqframe.core.config.settings import setting, settings
from mqframe.core.errors import BodyError, RetryError, StoreError
from mqframe.core.messages.message import MessageQueue
from mqframe.core.messages.names import check_path_part
from mqframe.core.wire import loose_json
from mqframe.hooks.interfaces import MemoryOffsetStore, OffsetStoreContext

Table = dict[MessageQueue, int]


class LocalOffsetStore(MemoryOffsetStore):
    """`<directory>/<client id>/<group>/offsets.json`; the version before it is `offsets.json.bak`.

    Raises `MessageError` for a client id or a group that leads elsewhere.
    """

    @settings("plugins.local")
    class Options:
        """Where the file lies."""

        directory: Path | None = setting(
            None, doc="folder of the files; none: the client's offset folder, ~/.rocketmq_offsets by default"
        )

    def __init__(self, context: OffsetStoreContext, options: Options | None = None) -> None:
        super().__init__()
        check_path_part("client id", context.client_id)
        check_path_part("group", context.group)
        directory = (options or self.Options()).directory or context.directory
        self.path = Path(directory).expanduser() / context.client_id / context.group / "offsets.json"
        self._backup = self.path.with_name("offsets.json.bak")
        self._writing = asyncio.Lock()
        self._wire_topic = context.wire_topic

    async def load(self) -> None:
        """Read the file, or its backup where it is damaged.

        Raises `StoreError` when both are damaged, `RetryError` on disk errors.
        """
        table, _ = await asyncio.to_thread(self._read)
        self.offsets.update(table)

    async def read_stored(self, queue: MessageQueue) -> int | None:
        """The offset in the file. Raises as `load` does."""
        table, _ = await asyncio.to_thread(self._read)
        return table.get(self._stored(queue))

    async def persist(self, queues: Collection[MessageQueue]) -> None:
        """Write the offsets of `queues`; others in the file stay. Raises `RetryError` on disk errors."""
        changed = {self._stored(queue): offset for queue, offset in self.offsets.items() if queue in queues}
        if changed:
            async with self._writing:
                await asyncio.to_thread(self._merge, changed)

    def _stored(self, queue: MessageQueue) -> MessageQueue:
        return queue._replace(topic=self._wire_topic(queue.topic))

    def _read(self) -> tuple[Table, Path | None]:
        """The offsets, and the file that they come from."""
        for path in (self.path, self._backup):
            try:
                text = path.read_bytes()
            except FileNotFoundError:
                continue
            except OSError as problem:
                raise RetryError(f"offset file {path} cannot be read: {problem}") from problem
            if not text:
                continue
            try:
                return _table(text), path
            except BodyError as problem:
                if path is self._backup:
                    raise StoreError(f"offset file {path} is damaged ({problem}); remove it") from problem
        return {}, None

    def _merge(self, changed: Table) -> None:
        table, source = self._read()
        if all(table.get(queue) == offset for queue, offset in changed.items()):
            return
        text = loose_json.dumps({"offsetTable": table | changed})
        fresh = self.path.with_name("offsets.json.tmp")
        try:
            self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            with open(fresh, "wb", opener=_open_private) as file:
                file.write(text)
                file.flush()
                os.fsync(file.fileno())
            if source == self.path:
                # A damaged file never takes the place of a good backup.
                os.replace(self.path, self._backup)
            os.replace(fresh, self.path)
        except OSError as problem:
            raise RetryError(f"offset file {self.path} cannot be written: {problem}") from problem


def _open_private(path: str, flags: int) -> int:
    """Open a file that only its owner may read."""
    return os.open(path, flags | os.O_CLOEXEC, 0o600)


def _table(text: bytes) -> Table:
    whole = loose_json.loads(text)
    table = whole.get("offsetTable") if isinstance(whole, dict) else None
    if not isinstance(table, dict):
        raise BodyError("no offsetTable")
    for queue, offset in table.items():
        if not isinstance(queue, MessageQueue) or not isinstance(offset, int):
            raise BodyError(f"offsetTable holds {queue!r}: {offset!r}")
    return table
