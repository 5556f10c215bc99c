"""Index files are compared with keys one by one, and their sizes are found in them."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from mqframe_index.store.index_file import IndexFile
from mqframe_index.store.key_hashes import KeyHashes
from mqframe_store_tools.checking.compared_index import ComparedIndex, index_paths, index_sizes
from mqframe_store_tools.checking.findings import Findings
from timed_pairs import TimedPairs

SIZES = (7, 50)
KEYS = [(offset, (f"k{offset}", "all")) for offset in range(100, 2000, 100)]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """One index file with two keys of each of 19 records."""
    path = tmp_path / "index"
    path.mkdir()
    file = IndexFile.create(path / f"{20260101000000000:017d}", *SIZES, 0, 0, lambda descriptor, size: None)
    file.open_to_write(lambda descriptor, size: None)
    for offset, keys in KEYS:
        file.add(KeyHashes().pairs("t", [(offset, keys)], 0), offset * 1000)
    file.write()
    file.close()
    return path


def compared(folder: Path, keys, log_start: int = 0, *, killed: bool = False) -> Findings:
    findings = Findings(folder.parent, killed=killed)
    index = ComparedIndex(index_paths(folder), SIZES, log_start, findings)
    for offset, words in keys:
        index.add("t", [(offset, words)], offset * 1000)
    index.finish(folder)
    index.close()
    return findings


def test_the_same_keys(folder: Path) -> None:
    assert compared(folder, KEYS).listed == []


def test_keys_that_somebody_else_has_hashed(folder: Path) -> None:
    pairs = [(*pair, pair[1] * 1000) for pair in KeyHashes().pairs("t", KEYS, 0)]
    wrong = [*pairs[:6], (1, *pairs[6][1:]), *pairs[7:]]
    for entries, count in ((pairs, 0), (wrong, 1)):
        findings = Findings(folder.parent, killed=False)
        index = ComparedIndex(index_paths(folder), SIZES, 0, findings)
        index.note_in(None, TimedPairs)
        index.add("", TimedPairs(entries[:9]), 0)
        index.add("", TimedPairs(entries[9:]), 0)
        index.finish(folder)
        index.close()
        assert (len(findings.listed) > 0) is (count > 0)


@given(
    st.lists(st.tuples(st.integers(0, 37), st.integers(0, 95)), min_size=1, max_size=3),
    st.sets(st.integers(1, 18)),
)
@example([(10, 82), (11, 81)], set())
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_how_many_records_come_at_once_does_not_matter(
    folder: Path, damage: list[tuple[int, int]], cuts: set[int]
) -> None:
    """Of one time, that is; whoever reads the log decides how many that are."""
    (path,) = index_paths(folder)
    whole = path.read_bytes()
    raw = bytearray(whole)
    for number, bit in damage:
        raw[88 + 20 * number + bit // 8] ^= 1 << bit % 8
    path.write_bytes(raw)
    told = []
    for ends in (range(1, 19), sorted(cuts)):
        findings = Findings(folder.parent, killed=False)
        index = ComparedIndex(index_paths(folder), SIZES, 0, findings)
        for start, end in pairwise([0, *ends, len(KEYS)]):
            index.add("t", KEYS[start:end], 100_000)
        index.finish(folder)
        index.close()
        told.append(findings.in_order())
    path.write_bytes(whole)
    assert told[0] == told[1]


def test_what_is_wrong_before_a_record_is_told_of_that_one(folder: Path) -> None:
    """Though it names an earlier record than the one before it."""
    (path,) = index_paths(folder)
    raw = bytearray(path.read_bytes())
    raw[88 + 20 * 10 + 10] ^= 4  # the first entry of the record at 600 says that it is of that at 1624
    raw[88 + 20 * 11 + 10] ^= 2  # the second one, that it is of that at 88
    path.write_bytes(raw)
    told = compared(folder, KEYS).listed
    assert [(each.offset, "log offset 600" in each.expected) for each in told] == [
        (88 + 20 * 10, True), (88 + 20 * 11, True), (88 + 20 * 12, True),
    ]  # fmt: skip


def test_records_before_the_log_are_passed_over(folder: Path) -> None:
    assert compared(folder, KEYS[5:], 600).listed == []


def test_keys_that_are_missing_within(folder: Path) -> None:
    (told,) = compared(folder, [*KEYS[:5], (550, ("new",)), *KEYS[5:]]).listed
    assert "log offset 600" in told.found
    assert "log offset 550 before it" in told.expected


def test_keys_that_are_missing_behind(folder: Path) -> None:
    more = [*KEYS, (5000, ("new", "newer"))]
    (told,) = compared(folder, more).listed
    assert told.found == "no entries of 2 keys of records from log offset 5000 on"
    findings = compared(folder, more, killed=True)
    assert (findings.listed, len(findings.notes)) == ([], 1)


def test_entries_of_no_record(folder: Path) -> None:
    findings = compared(folder, [*KEYS[:5], *KEYS[6:]])
    assert [each.offset for each in findings.listed] == [88 + 20 * 10, 88 + 20 * 11]
    assert len(compared(folder, KEYS[:-1]).listed) == 2


def test_sizes_are_found_in_the_files(folder: Path) -> None:
    assert index_sizes(index_paths(folder), 5_000_000, 20_000_000) == SIZES
    assert index_sizes([], 3, 4) == (3, 4)
    (path,) = index_paths(folder)
    path.write_bytes(bytes(path.stat().st_size))
    assert index_sizes([path], 3, 4) == (3, 4)


@pytest.mark.parametrize("keys", [("a",), ("a", "b", "c")])
def test_sizes_are_found_where_only_the_first_record_of_a_log_has_keys(
    tmp_path: Path, keys: tuple[str, ...]
) -> None:
    path = tmp_path / f"{20260101000000000:017d}"
    file = IndexFile.create(path, 70, 50, 0, 0, lambda descriptor, size: None)
    file.open_to_write(lambda descriptor, size: None)
    file.add(KeyHashes().pairs("t", [(0, keys)], 0), 1000)
    file.write()
    file.close()
    assert index_sizes([path], 5_000_000, 20_000_000) == (70, 50)


def test_a_cut_file_is_told(folder: Path) -> None:
    (path,) = index_paths(folder)
    path.write_bytes(path.read_bytes()[:200])
    findings = compared(folder, KEYS)
    assert "200 bytes" in findings.listed[0].found
    assert findings.total > 1
