"""Whether samples of the index say what the log says."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from mqframe_index.store.agreement import IndexAgreement
from mqframe_index.store.index_files import IndexFiles

from mqframe.core.storage.log_scan import LogRecord
from mqframe.store.files.log_file import allocate_really


def record(number: int, keys: str) -> LogRecord:
    return LogRecord(100 * number, 100, "t", 0, number, 0, 1000 + number, f"KEYS\x01{keys}\x02")


class Log:
    """A log of these records; all of them are samples."""

    log_start = 0

    def __init__(self, records: Sequence[LogRecord]) -> None:
        self.records = {each.physical_offset: each for each in records}

    def record(self, offset: int) -> LogRecord | None:
        return self.records.get(offset)

    def file_start(self, offset: int) -> int | None:
        return 0 if offset <= max(self.records, default=-1) else None

    def heads(self) -> Iterator[LogRecord]:
        return iter(self.records.values())


@pytest.fixture
def index(tmp_path: Path) -> Iterator[IndexFiles]:
    """Of records 0 to 5, with the keys k0 to k5, three in a file."""
    found = IndexFiles(tmp_path / "index", 7, 4, allocate_really, lambda: 1_700_000_000_000)
    found.load()
    for number in range(6):
        found.add("t", [(100 * number, (f"k{number}",))], 1000 + number)
    found.write()
    yield found
    found.close()


def test_an_index_of_its_log_agrees(index: IndexFiles) -> None:
    agreement = IndexAgreement(Log([record(n, f"k{n}") for n in range(6)]), 600)
    assert agreement.first_wrong(index.files) is None
    assert agreement.keys_found(index.offsets)


@pytest.mark.parametrize(("start", "wrong"), [(600, 1), (400, None)])
def test_a_record_of_another_key_tells_unless_it_comes_again(index, start: int, wrong: int | None) -> None:
    agreement = IndexAgreement(Log([record(n, "k0" if n == 4 else f"k{n}") for n in range(6)]), start)
    assert agreement.first_wrong(index.files) == wrong


def test_an_entry_without_a_record_tells(index: IndexFiles) -> None:
    assert (
        IndexAgreement(Log([record(n, f"k{n}") for n in (1, 2, 3, 4, 5)]), 600).first_wrong(index.files) == 0
    )


def test_a_key_that_leads_nowhere_is_missed(index: IndexFiles) -> None:
    log = Log([*(record(n, f"k{n}") for n in range(6)), record(6, "new")])
    assert not IndexAgreement(log, 700).keys_found(index.offsets)


def test_what_is_wrong_is_dropped_and_wanted_again(index: IndexFiles) -> None:
    log = Log([record(n, "k0" if n == 4 else f"k{n}") for n in range(6)])
    assert index.recover(log, index.rows(), 600, torn=False) == 100
    assert [file.end_offset for file in index.files] == [100]
    assert index.recover(Log([]), (), 600, torn=True) == 0
