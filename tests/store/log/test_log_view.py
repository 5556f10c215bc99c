"""The log's files as they lie there: which follow one another, and of which size they are."""

from __future__ import annotations

from pathlib import Path

from mqframe.store.log.log_view import LogView, neighbours


def make(folder: Path, **sizes: int) -> None:
    for name, size in sizes.items():
        (folder / f"{int(name[1:]):020d}").write_bytes(bytes([1]) * size)


def test_groups_without_a_gap(tmp_path: Path) -> None:
    make(tmp_path, _0=100, _100=100, _300=100, _400=40)
    size, groups = neighbours(tmp_path)
    assert size == 100
    assert [[base for base, _, _ in group] for group in groups] == [[0, 100], [300, 400]]


def test_the_size_of_few_files(tmp_path: Path) -> None:
    assert neighbours(tmp_path) == (0, [])
    make(tmp_path, _0=100, _100=30)
    assert neighbours(tmp_path)[0] == 100
    make(tmp_path, _100=0)
    assert neighbours(tmp_path)[0] == 100


def test_what_lies_at_an_offset(tmp_path: Path) -> None:
    make(tmp_path, _100=100, _200=40)
    size, (files,) = neighbours(tmp_path)
    view = LogView(tmp_path, files, size)
    places = {offset: view.file_at(offset) for offset in (0, 99, 100, 239, 240)}
    assert [None if file is None else file.base for file in places.values()] == [None, None, 100, 200, None]
    assert view.start == 100
    del places
    view.close()
