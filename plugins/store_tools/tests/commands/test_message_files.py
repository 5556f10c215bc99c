"""Messages in JSON lines and in Parquet come back as they were written."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mqframe_admin.rules.message_rows import body_of
from mqframe_store_tools.commands.message_files import (
    body_bytes,
    is_parquet,
    read_lines,
    read_parquet,
    write_lines,
    write_parquet,
)

from mqframe.core.errors import MessageError

ROW = {
    "topic": "t", "queue_id": 1, "queue_offset": 7, "commit_log_offset": 1 << 40, "stored_bytes": 100,
    "message_id": "A", "tag": None, "keys": ["a", "b"], "born_ms": 1, "born_host": "h:1", "stored_ms": 2,
    "store_host": "h:2", "reconsume_times": 0, "flag": 3, "sys_flag": 0, "prepared_transaction_offset": 0,
    "body_crc": 5, "properties": {"x": "y"},
}  # fmt: skip


@given(body=st.binary(max_size=50))
def test_bodies_in_lines(body: bytes) -> None:
    file = io.BytesIO()
    assert write_lines([ROW | body_of(body)] * 2, file) == 2
    rows = list(read_lines(io.BytesIO(file.getvalue())))
    assert [body_bytes(row) for row in rows] == [body, body]
    assert rows[0] == ROW | body_of(body)


def test_parquet(tmp_path: Path) -> None:
    path = tmp_path / "x.parquet"
    assert is_parquet(path)
    with path.open("wb") as file:
        assert write_parquet([ROW | body_of(b"\xff"), ROW | body_of(b"text")], file) == 2
    first, second = read_parquet(path)
    assert (body_bytes(first), body_bytes(second)) == (b"\xff", b"text")
    assert {name: first[name] for name in ROW} == ROW


def test_other_files(tmp_path: Path) -> None:
    path = tmp_path / "x.parquet"
    path.write_bytes(b"no")
    with pytest.raises(MessageError, match="no messages in Parquet"):
        list(read_parquet(path))
    for line, told in (
        (b"{", "line 2 is no JSON"),
        (b'{"a":"\xb4"}', "line 2 is no JSON"),
        (b"[]", "line 2 is no JSON object"),
    ):
        with pytest.raises(MessageError, match=told):
            list(read_lines([b"\n", line]))


@pytest.mark.parametrize(
    "row",
    [{"body": "x", "body_encoding": "base64"}, {"body": 5}, {"body": "x", "body_encoding": "rot13"}, {}],
)
def test_bodies_that_are_not_what_they_say(row) -> None:
    with pytest.raises(MessageError):
        body_bytes(row)
