"""The files of a commit log as they lie there, for whoever only looks."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise
from pathlib import Path

from mqframe.store.files.layout import sized_files
from mqframe.store.files.log_file import LogFile


class LogView:
    """Neighbouring files of the log in `directory`, mapped for reading; of `file_bytes` each, but the last.

    `files`: (log offset of the first byte, path, size), in order. `close` it. Raises OSError.
    """

    def __init__(self, directory: Path, files: list[tuple[int, Path, int]], file_bytes: int) -> None:
        self.directory = directory
        self.file_bytes = file_bytes
        self.files: list[LogFile] = []
        try:
            for _, path, size in files:
                self.files.append(LogFile(path, min(size, file_bytes), writable=False))
        except OSError:
            self.close()
            raise

    @property
    def start(self) -> int:
        """Offset of the first byte."""
        return self.files[0].base if self.files else 0

    def file_at(self, offset: int) -> LogFile | None:
        """The file that holds log offset `offset`."""
        number = (offset - self.start) // self.file_bytes
        if not 0 <= number < len(self.files):
            return None
        file = self.files[number]
        return file if offset < file.base + file.size else None

    def close(self) -> None:
        """Close all files."""
        for file in self.files:
            file.close()
        self.files = []


def neighbours(directory: Path) -> tuple[int, list[list[tuple[int, Path, int]]]]:
    """The size that the log's files were made with, bytes, and the files that hold anything, as (log offset,
    path, size), in groups that follow one another without a gap. No size is 0 only where there is no log."""
    files = [each for each in sized_files(directory) if each[2]]
    sizes = Counter(size for _, _, size in files)
    file_bytes = max(sizes, key=lambda size: (sizes[size], size), default=0)
    strides = Counter(later[0] - earlier[0] for earlier, later in pairwise(files))
    if strides and sizes[file_bytes] == 1:
        file_bytes = max(strides, key=lambda stride: (strides[stride], -stride))
    groups: list[list[tuple[int, Path, int]]] = []
    end = -1
    for base, path, size in files:
        if base != end:
            groups.append([])
        groups[-1].append((base, path, size))
        end = base + size
    return file_bytes, groups
