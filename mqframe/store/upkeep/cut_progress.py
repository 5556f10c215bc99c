"""What becomes of progress that is saved beside a log whose end is cut off."""

from __future__ import annotations

import json
from pathlib import Path

import msgspec

from mqframe.hooks.interfaces.cut_back import FileChange
from mqframe.store.files.config_file import ConfigFile
from mqframe.store.files.layout import Layout
from mqframe.store.files.syncing import make_directories, sync_directory, write_durably


class CutProgress(msgspec.Struct, frozen=True):
    """What becomes of the files that counted on a tail, in order. Rather earlier than right: messages may
    come twice, never not at all.
    """

    files: list[FileChange] = []


def put_back(layout: Layout, progress: CutProgress, log_end: int) -> None:
    """Save `progress`, for a log that ends at `log_end`; may be repeated.

    Raises `StoreError` for a file that cannot be read; OSError.
    """
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
