"""Progress that is saved beside a log, put back to where it was before the log's end that is cut off.

Groups and following dispatchers are the kernel's; what services keep, they put back themselves (`CutBack`).
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import msgspec

from mqframe.core.consuming.bodies import ConsumerOffsetTable
from mqframe.core.wire.loose_json import dumps
from mqframe.hooks.interfaces.cut_back import CutBack, FileChange, OffsetPlace
from mqframe.store.files.config_file import ConfigFile
from mqframe.store.files.layout import Layout
from mqframe.store.files.syncing import make_directories, sync_directory, write_durably
from mqframe.store.upkeep.stopped_store import StoreToCut

_OFFSETS = "consumerOffset.json"


class CutProgress(msgspec.Struct, frozen=True):
    """What becomes of the files that counted on a tail, in order. Rather earlier than right: messages may
    come twice, never not at all.
    """

    files: list[FileChange] = []


def progress_before(store: StoreToCut, services: Sequence[CutBack]) -> CutProgress:
    """Where the progress of a stopped store is to stand without its log's tail, which `services` were shown.

    Raises `StoreError` for a file that cannot be read; OSError.
    """
    changes = [*_groups(store, services)]
    for service in services:
        changes += service.files(store)
    return CutProgress(changes)


def _groups(store: StoreToCut, services: Sequence[CutBack]) -> list[FileChange]:
    table = store.table(_OFFSETS, ConsumerOffsetTable)
    changed = False
    for key, queues in ({} if table is None else table.offset_table).items():
        topic, _, group = key.partition("@")
        for queue_id, offset in queues.items():
            first = store.first_cut(topic, queue_id)
            back = offset if first is None else min(offset, first)
            for service in services:
                back = min(back, service.offset(OffsetPlace(topic, group, queue_id), back, store))
            queues[queue_id] = back
            changed |= back < offset
    return [FileChange(f"config/{_OFFSETS}", dumps(table))] if changed else []


def put_back(layout: Layout, progress: CutProgress, log_end: int) -> None:
    """Save `progress`, for a log that ends at `log_end`; may be repeated. Raises as `progress_before`."""
    for change in progress.files:
        _change(layout.root / change.path, change.content, is_config=change.path.endswith(".json"))
    _cut_cursors(layout.cursors, log_end)


def _change(path: Path, content: bytes | None, *, is_config: bool) -> None:
    if content is not None and is_config:
        ConfigFile(path).save(content)
    elif content is not None:
        make_directories(path.parent)
        write_durably(path, content)
    elif path.is_dir():
        for each in path.iterdir():
            each.unlink()
        sync_directory(path)
    elif path.exists():
        path.unlink()
        sync_directory(path.parent)


def _cut_cursors(path: Path, log_end: int) -> None:
    """Following dispatchers go on at the log's end, where they were behind it."""
    table: dict[str, int] | None = ConfigFile(path).load(lambda raw: json.loads(raw)["offsetTable"])
    if table and max(table.values()) > log_end:
        changed = {name: min(int(offset), log_end) for name, offset in table.items()}
        ConfigFile(path).save(json.dumps({"offsetTable": changed}, indent="\t").encode())
