"""Opening the index of a store."""

from __future__ import annotations

from pathlib import Path

from mqframe_index.settings import IndexSettings
from mqframe_index.store.indexing import FileIndexing

from mqframe.hooks.interfaces import KeyIndexPlace
from mqframe.store.files.log_file import allocate_really


def test_the_files_are_below_the_stores_folder(tmp_path: Path) -> None:
    place = KeyIndexPlace(tmp_path, allocate_really, lambda: 1_700_000_000_000)
    index = FileIndexing(IndexSettings(slots=3, entries=5)).open(place)
    assert index is not None
    index.add("t", [(10, ("a", "b"))], 1000)
    index.write()
    (path,) = (tmp_path / "index").iterdir()
    assert path.stat().st_size == 40 + 3 * 4 + 5 * 20
    index.close()
    again = FileIndexing(IndexSettings(slots=3, entries=5)).open(place)
    assert again is not None
    assert again.rows() == [(path.name, 3, 10)]
    assert again.repeat_from == 11
    again.close()


def test_one_that_is_switched_off_is_not_there(tmp_path: Path) -> None:
    place = KeyIndexPlace(tmp_path, allocate_really, lambda: 0)
    assert FileIndexing(IndexSettings(enabled=False)).open(place) is None
    assert list(tmp_path.iterdir()) == []


def test_without_a_plugin_for_a_while_a_new_index_has_what_the_log_holds(opened, message, tmp_path) -> None:
    store = opened(options={"open_index": None})
    for number in range(30):
        store.writes.put(message(body=b"%d" % number, KEYS=f"k{number}"))
    store.dispatch.now()
    assert store.search.query("t", "k3", 9).records == []
    store.abandon()
    store = opened()
    assert [len(store.search.query("t", f"k{number}", 9).records) for number in range(30)] == [1] * 30
