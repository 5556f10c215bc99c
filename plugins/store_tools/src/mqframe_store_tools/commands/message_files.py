"""Messages of a topic in files for other programs: JSON lines and Parquet, written and read."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import IO, Any, Final

import msgspec

from mqframe.core.errors import MessageError, SettingError

Row = dict[str, Any]
_ROWS_AT_ONCE: Final = 5000
_INTEGERS: Final = (
    "queue_offset", "commit_log_offset", "born_ms", "stored_ms", "prepared_transaction_offset", "body_crc",
)  # fmt: skip
_SHORT_INTEGERS: Final = ("queue_id", "stored_bytes", "reconsume_times", "flag", "sys_flag")
_TEXTS: Final = ("topic", "message_id", "tag", "born_host", "store_host")


def is_parquet(path: Path) -> bool:
    """Whether the name of a file says that it is Parquet."""
    return path.suffix == ".parquet"


def write_lines(rows: Iterable[Row], file: IO[bytes]) -> int:
    """Write `rows` as JSON, one a line; how many. Raises OSError."""
    encoder, count = msgspec.json.Encoder(), 0
    for row in rows:
        file.write(encoder.encode(row) + b"\n")
        count += 1
    return count


def read_lines(file: Iterable[bytes]) -> Iterator[Row]:
    """What `write_lines` wrote. Raises `MessageError`, which names the line."""
    for number, line in enumerate(file, 1):
        if not line.strip():
            continue
        try:
            row = msgspec.json.decode(line)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as problem:
            raise MessageError(f"line {number} is no JSON: {problem}") from problem
        if not isinstance(row, dict):
            raise MessageError(f"line {number} is no JSON object")
        yield row


def write_parquet(rows: Iterable[Row], file: IO[bytes]) -> int:
    """Write `rows` as Parquet, bodies as bytes; how many. Raises `SettingError` without pyarrow; OSError."""
    pa, pq = _arrow()
    schema = pa.schema(
        [(name, pa.string()) for name in _TEXTS]
        + [(name, pa.int32()) for name in _SHORT_INTEGERS]
        + [(name, pa.int64()) for name in _INTEGERS]
        + [
            ("keys", pa.list_(pa.string())),
            ("properties", pa.map_(pa.string(), pa.string())),
            ("body", pa.binary()),
            ("body_encoding", pa.string()),
        ]
    )
    count = 0
    with pq.ParquetWriter(file, schema) as writer:
        left = map(_as_bytes, rows)
        while part := list(islice(left, _ROWS_AT_ONCE)):
            writer.write_table(pa.Table.from_pylist(part, schema=schema))
            count += len(part)
    return count


def read_parquet(path: Path) -> Iterator[Row]:
    """What `write_parquet` wrote. Raises `SettingError` without pyarrow, `MessageError` for another file."""
    pa, pq = _arrow()
    try:
        with pq.ParquetFile(path) as file:
            for part in file.iter_batches(_ROWS_AT_ONCE):
                yield from (row | {"properties": dict(row["properties"] or ())} for row in part.to_pylist())
    except (pa.ArrowException, KeyError) as problem:
        raise MessageError(f"{path} holds no messages in Parquet: {problem}") from problem


def body_bytes(row: Row) -> bytes:
    """The body of a row. Raises `MessageError` where it is not what `body_encoding` says."""
    body, encoding = row.get("body"), row.get("body_encoding", "text")
    if encoding == "text" and isinstance(body, str):
        return body.encode()
    if encoding == "bytes" and isinstance(body, bytes):
        return body
    if encoding == "base64" and isinstance(body, str):
        try:
            return base64.b64decode(body, validate=True)
        except binascii.Error as problem:
            raise MessageError(f"a body is marked as base64 and is none: {problem}") from problem
    raise MessageError(
        f"a body is marked as {encoding!r} and is {type(body).__name__}; text or base64 is known"
    )


def _as_bytes(row: Row) -> Row:
    return row | {"body": body_bytes(row), "body_encoding": "bytes"}


def _arrow() -> tuple[Any, Any]:
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError as problem:
        raise SettingError(
            "Parquet needs pyarrow: pip install 'mqframe[parquet]', or name the file .jsonl for JSON lines"
        ) from problem
    return pyarrow, pyarrow.parquet
