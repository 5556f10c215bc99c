"""Sizes of files are what the files of a store say."""

from __future__ import annotations

from pathlib import Path

import small_store
from mqframe_cli.stopped_store import known_store
from mqframe_index.settings import IndexSettings
from mqframe_store_tools.checking.sizes import with_index_sizes, with_sizes

from mqframe.store.settings import StoreSettings


def test_sizes_are_those_of_the_files(tmp_path: Path) -> None:
    small_store.fill(tmp_path / "store")
    sized = with_sizes(StoreSettings(), known_store(tmp_path / "store"))
    found = {name: getattr(sized, name) for name in small_store.SIZES if name != "disk_limits"}
    assert found == {name: small_store.SIZES[name] for name in found}
    assert sized.directory == tmp_path / "store"
    assert with_index_sizes(IndexSettings(), known_store(tmp_path / "store")) == small_store.INDEX


def test_sizes_of_an_empty_store_are_the_settings(tmp_path: Path) -> None:
    (tmp_path / "commitlog").mkdir()
    sized = with_sizes(small_store.settings(tmp_path), known_store(tmp_path))
    assert (sized.commit_log_file_bytes, sized.queue_file_bytes) == (8192, 400)
    assert with_index_sizes(small_store.INDEX, known_store(tmp_path)) == small_store.INDEX
