"""Unique keys and hash codes of many rows at once, against those of one."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from mqframe_spark.sink.key_bytes import UniqueKeys, fixed_binary, key_hashes, numbered

from mqframe.core.messages.ids import local_month_start_ms
from mqframe.core.messages.java_hash import java_hash

NOW_MS = 1_800_000_000_000


def test_keys_look_like_those_of_a_producer() -> None:
    keys = UniqueKeys("10.0.0.7@123", now_ms=lambda: NOW_MS, salt=0xABCDEF01).take(3).to_pylist()
    elapsed = NOW_MS - local_month_start_ms(NOW_MS)
    for number, key in enumerate(keys):
        assert len(key) == 32
        assert key.startswith(b"0A000007")
        assert key[12:] == b"ABCDEF01" + f"{elapsed:08X}{number:04X}".encode()


@pytest.mark.parametrize(("client", "size"), [("fe80::1@1", 56), ("no address@1", 32)])
def test_keys_of_other_addresses(client: str, size: int) -> None:
    assert {len(key) for key in UniqueKeys(client).take(2).to_pylist()} == {size}


@pytest.mark.parametrize("times", [[NOW_MS] * 4, [NOW_MS, NOW_MS + 1, NOW_MS - 5000, NOW_MS]])
def test_keys_never_come_twice(times: list[int]) -> None:
    ticks = iter([NOW_MS, *times])
    keys = UniqueKeys("127.0.0.1@1", now_ms=lambda: next(ticks))
    taken = [keys.take(50_000) for _ in times]
    assert len(pa.chunked_array(taken).unique()) == 200_000


@given(st.lists(st.none() | st.text(max_size=9) | st.text("abc", min_size=100, max_size=120), max_size=20))
def test_hash_codes_of_texts(texts: list[str | None]) -> None:
    expected = [0 if text is None else java_hash(text) for text in texts]
    for kind in (pa.string(), pa.large_string()):
        padded = pa.array(["cut off", *texts, None], kind).slice(1, len(texts))
        assert key_hashes(padded).tolist() == expected


@pytest.mark.parametrize(
    ("value", "code"),
    [(5, 5), (-5, -5), (2**31 - 1, 2**31 - 1), (-(2**31), -(2**31)), (2**31, -(2**31)), (2**40 + 7, 263),
     (-(2**40), -256), (2**63 - 1, -(2**31)), (-(2**63), -(2**31))],
)  # fmt: skip
def test_hash_codes_of_numbers(value: int, code: int) -> None:
    assert key_hashes(pa.array([value, None], pa.int64())).tolist() == [code, 0]


def test_hash_codes_of_truths_and_small_numbers() -> None:
    assert key_hashes(pa.array([True, False, None])).tolist() == [1231, 1237, 0]
    assert key_hashes(pa.array([-7, 7], pa.int8())).tolist() == [-7, 7]


def test_hash_codes_agree_with_the_hash_selector() -> None:
    from mqframe.hooks.hash_selector import java_hash_code

    values = [0, 1, -1, 2**31, -(2**31) - 1, 2**62 + 12345, -(2**62) - 999]
    assert key_hashes(pa.array(values)).tolist() == [java_hash_code(value) for value in values]


@pytest.mark.parametrize(("rows", "width"), [(0, 3), (3, 0), (2, 3)])
def test_rows_of_a_table(rows: int, width: int) -> None:
    table = np.frombuffer(bytes(range(rows * width)), np.uint8).reshape(rows, width)
    assert fixed_binary(table).to_pylist() == [row.tobytes() for row in table]


def test_numbers_behind_a_prefix() -> None:
    assert numbered("q-3-", 98, 3).to_pylist() == [b"q-3-98", b"q-3-99", b"q-3-100"]
