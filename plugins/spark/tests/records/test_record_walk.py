import random

import numpy as np
import pytest
from mqframe_spark.records import record_walk
from mqframe_spark.records.record_walk import numbers_at, walk

from mqframe.core.storage.record import RecordError


def sizes_of(records: list[bytes]) -> list[int]:
    return [len(one) for one in records]


def starts_of(records: list[bytes]) -> list[int]:
    return np.cumsum([0, *sizes_of(records)])[:-1].tolist()


def check(records: list[bytes]) -> None:
    body = b"".join(records)
    for form in (body, memoryview(body), bytearray(body)):
        starts, sizes = walk(form)
        assert (starts.tolist(), sizes.tolist()) == (starts_of(records), sizes_of(records))
        assert numbers_at(form, starts, sizes, 28).tolist() == [n * 1000 for n in range(len(records))]


def make(record, lengths) -> list[bytes]:
    return [record(n, body=b"x" * size, position=1000 * n) for n, size in enumerate(lengths)]


@pytest.mark.parametrize("count", [0, 1, 7, 8, 63, 64, 65, 300])
def test_records_of_one_size(record, count) -> None:
    lengths = [10] * count
    records = [record(n, body=b"x" * 10, properties=b"", position=1000 * n) for n in range(len(lengths))]
    check(records)


@pytest.mark.parametrize("change", [1, 5, 63, 64, 65, 130, 199])
def test_one_record_of_another_size(record, change) -> None:
    lengths = [10] * 200
    lengths[change] = 11
    check(
        [record(n, body=b"x" * length, properties=b"", position=1000 * n) for n, length in enumerate(lengths)]
    )


def test_records_of_any_sizes(record, monkeypatch) -> None:
    chance = random.Random(3)
    check(make(record, [chance.randrange(50) for _ in range(600)]))
    monkeypatch.setattr(record_walk, "_STEPS", 3)
    for _ in range(30):
        lengths: list[int] = []
        while len(lengths) < 60:
            lengths += [chance.randrange(40)] * chance.choice((1, 1, 2, 9, 20))
        check(
            [record(n, body=b"x" * size, properties=b"", position=1000 * n) for n, size in enumerate(lengths)]
        )


def test_a_body_that_looks_like_records_is_passed_over(record) -> None:
    inner = record(5, body=b"", properties=b"")
    check([record(n, body=inner * 3, properties=b"", position=1000 * n) for n in range(20)])


@pytest.mark.parametrize("cut", [1, 4, 100])
def test_what_is_cut_off_is_told(record, cut) -> None:
    body = b"".join(make(record, [10] * 20))
    with pytest.raises(RecordError, match=r"begins no whole record"):
        walk(body[:-cut])


@pytest.mark.parametrize("size", [0, -1, 87, 1 << 30])
def test_a_size_that_cannot_be_among_records_of_any_sizes_is_told(record, size) -> None:
    records = make(record, range(20))
    ninth = sum(map(len, records[:9]))
    whole = b"".join(records)
    body = whole[:ninth] + size.to_bytes(4, "big", signed=True) + whole[ninth + 4 :]
    with pytest.raises(RecordError, match=f"byte {ninth} of an answer of {len(whole)} bytes"):
        walk(body)


@pytest.mark.parametrize("size", [0, -1, 87, 1 << 30])
def test_a_size_that_cannot_be_is_told(record, size) -> None:
    one = record(0, properties=b"")
    body = one * 9 + size.to_bytes(4, "big", signed=True) + one[4:]
    with pytest.raises(RecordError, match=f"byte {len(one) * 9} of an answer of {len(one) * 10} bytes"):
        walk(body)
