from __future__ import annotations

import pytest

from mqframe.core.consuming.consume_rules import Ask, ConsumeFrom, first_offset


@pytest.mark.parametrize("where", list(ConsumeFrom))
def test_a_stored_offset_counts_before_all(where) -> None:
    assert first_offset("orders", 0, where) == 0
    assert first_offset("orders", 17, where) == 17


@pytest.mark.parametrize(
    ("topic", "where", "expected"),
    [
        ("orders", ConsumeFrom.LAST, Ask.MAX),
        ("orders", ConsumeFrom.FIRST, Ask.MIN),
        ("orders", ConsumeFrom.TIMESTAMP, Ask.TIME),
        ("%RETRY%billing", ConsumeFrom.LAST, 0),
        ("%RETRY%billing", ConsumeFrom.FIRST, Ask.MIN),
        ("%RETRY%billing", ConsumeFrom.TIMESTAMP, Ask.MAX),
    ],
)
def test_without_a_stored_offset(topic, where, expected) -> None:
    assert first_offset(topic, None, where) == expected
