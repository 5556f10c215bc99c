"""The files of a queue as a start finds them."""

from __future__ import annotations

import pytest

from mqframe.store.queues.queue_files import QueueFiles, look, mended


@pytest.fixture
def folder(tmp_path):
    def make(**sizes: int) -> str:
        for name, size in sizes.items():
            (tmp_path / name[1:].zfill(20)).write_bytes(b"x" * size)
        (tmp_path / "other").write_bytes(b"")
        return str(tmp_path)

    return make


def test_whole_files_are_left_alone(folder, tmp_path) -> None:
    directory = folder(_200=100, _300=100)
    assert mended(directory, 100) == QueueFiles([200, 300], None)
    assert look(directory) == [(200, 100), (300, 100)]
    assert look(str(tmp_path / "none")) == []
    assert mended(str(tmp_path / "none"), 100) == QueueFiles([], 0)


@pytest.mark.parametrize(
    ("sizes", "doubtful"),
    [
        ({"_0": 100, "_100": 40}, 100),
        ({"_0": 100, "_100": 0}, 100),
        ({"_0": 40, "_100": 100}, 0),
        ({"_0": 100, "_200": 100}, 100),
        ({"_0": 100, "_300": 30}, 100),
    ],
)
def test_short_and_missing_ones_are_filled_up(folder, sizes, doubtful) -> None:
    directory = folder(**sizes)
    bases = list(range(0, max(int(name[1:]) for name in sizes) + 1, 100))
    assert mended(directory, 100) == QueueFiles(bases, doubtful)
    assert look(directory) == [(base, 100) for base in bases]


@pytest.mark.parametrize(
    "sizes", [{"_0": 101}, {"_50": 100}, {"_0": 100, "_150": 100}, {"_0": 9, "_900000": 9}]
)
def test_those_of_another_setting_go(folder, sizes) -> None:
    directory = folder(**sizes)
    assert mended(directory, 100) == QueueFiles([], 0)
    assert look(directory) == []
