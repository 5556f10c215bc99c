"""Up to where two logs are the same, whatever they are behind that."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from hypothesis import given
from hypothesis import strategies as st
from mqframe_replication.rules.last_common import last_common

from mqframe.core.storage.log_scan import LogRecord

FILE = 1000


class Part(NamedTuple):
    base: int


class Log:
    """Records of some sizes in files of 1000 bytes; the content of each is its name and its size."""

    def __init__(self, records: list[tuple[str, int]]) -> None:
        self.contents: dict[int, bytes] = {}
        end = 0
        for name, size in records:
            if end % FILE + size > FILE:
                end += FILE - end % FILE
            self.contents[end] = (name * size).encode()[:size]
            end += size
        self.end = end
        self.asked: list[int] = []

    @property
    def files(self) -> list[Part]:
        return [Part(base) for base in range(0, self.end, FILE)]

    def records(self, file: Part) -> Iterator[LogRecord]:
        for at, raw in self.contents.items():
            if file.base <= at < file.base + FILE:
                yield LogRecord(at, len(raw), "t", 0, 0, 0, 0, "")

    def bytes_at(self, start: int, end: int) -> bytes:
        return self.contents[start][: end - start]


def found(mine: Log, theirs: Log, low: int = 0) -> int | None:
    search = last_common(mine, low)
    answer = None
    try:
        offset = next(search)
        while True:
            mine.asked.append(offset)
            assert offset >= low
            offset = search.send(theirs.contents.get(offset))
    except StopIteration as end:
        answer = end.value
    return answer


RECORDS = st.lists(st.tuples(st.sampled_from("ab"), st.integers(1, 300)), max_size=60)


@given(common=RECORDS, mine=RECORDS, theirs=RECORDS)
def test_it_is_the_end_of_the_last_record_that_is_the_same(common, mine, theirs) -> None:
    own = Log([*common, *(("m", size) for _, size in mine)])
    other = Log([*common, *(("t", size) for _, size in theirs)])
    same = 0
    for (at, raw), (there, other_raw) in zip(own.contents.items(), other.contents.items(), strict=False):
        if (at, raw) != (there, other_raw):
            break
        same = at + len(raw)
    assert found(own, other) == (same or None)
    assert len(own.asked) <= 14


def test_what_the_other_log_has_deleted_is_not_asked_for() -> None:
    records = [("a", 400)] * 7
    assert found(Log([*records, ("a", 7)]), Log([*records, ("b", 7)]), 2000) == 3400
    assert found(Log(records), Log(records), 4000) is None


def test_an_empty_log_has_nothing_in_common() -> None:
    assert found(Log([]), Log([("a", 5)])) is None
