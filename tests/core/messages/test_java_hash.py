from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mqframe.core.messages.java_hash import java_hash, unsigned_hash

TABLE = json.loads((Path(__file__).parents[2] / "data/algorithms/hash_selector.json").read_text())


def plain_hash(text: str) -> int:
    value = 0
    raw = text.encode("utf-16-be", "surrogatepass")
    for at in range(0, len(raw), 2):
        value = (value * 31 + int.from_bytes(raw[at : at + 2], "big")) & 0xFFFFFFFF
    return value


@pytest.mark.parametrize(
    "row", [row for row in TABLE if row["javaType"] == "String"], ids=lambda r: r["key"][:20]
)
def test_the_table_of_the_java_client(row: dict[str, Any]) -> None:
    assert java_hash(row["key"]) == row["hashCode"]


@given(st.text())
def test_agrees_with_the_definition(text: str) -> None:
    assert unsigned_hash(text) == plain_hash(text)


@given(st.text(), st.text())
def test_continues_from_a_prefix(head: str, tail: str) -> None:
    assert unsigned_hash(tail, unsigned_hash(head)) == unsigned_hash(head + tail)


@given(st.text())
def test_signed_and_unsigned_forms_agree(text: str) -> None:
    signed = java_hash(text)
    assert -(2**31) <= signed < 2**31
    assert signed & 0xFFFFFFFF == unsigned_hash(text)


def test_the_hash_that_overflows() -> None:
    assert java_hash("polygenelubricants") == -(2**31)
