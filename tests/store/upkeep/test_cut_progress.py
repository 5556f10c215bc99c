"""Files beside a log that is cut become what a report says, however often it is done."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from mqframe.core.errors import StoreError
from mqframe.hooks.interfaces import FileChange
from mqframe.store.files.layout import Layout
from mqframe.store.upkeep.cut_progress import CutProgress, put_back


@pytest.fixture
def layout(tmp_path: Path) -> Layout:
    (tmp_path / "config").mkdir()
    return Layout(tmp_path)


@pytest.mark.parametrize("times", [1, 2])
def test_files_are_saved_and_deleted_and_folders_emptied(layout, times) -> None:
    (layout.config / "kept.json").write_text('{"former": 1}')
    (layout.root / "old").touch()
    (layout.root / "folder").mkdir()
    (layout.root / "folder" / "part").touch()
    progress = CutProgress(
        [
            FileChange("config/kept.json", b"{}"),
            FileChange("kept/page", b"0" * 10),
            FileChange("old"),
            FileChange("folder"),
            FileChange("none"),
        ]
    )
    for _ in range(times):
        put_back(layout, progress, 1000)
    assert (layout.config / "kept.json").read_bytes() == b"{}"
    assert (layout.root / "kept/page").read_bytes() == b"0" * 10
    assert list((layout.root / "folder").iterdir()) == []
    assert not (layout.root / "old").exists()


def test_dispatchers_go_on_at_the_end_of_the_log(layout) -> None:
    (layout.config / "dispatchers.json").write_text('{"offsetTable": {"lake": 4000, "other": 10}}')
    put_back(layout, CutProgress(), 1000)
    table = json.loads((layout.config / "dispatchers.json").read_text())["offsetTable"]
    assert table == {"lake": 1000, "other": 10}


def test_what_cannot_be_read_is_told(layout) -> None:
    (layout.config / "dispatchers.json").write_text("{")
    with pytest.raises(StoreError, match=r"dispatchers\.json is broken"):
        put_back(layout, CutProgress(), 1000)
