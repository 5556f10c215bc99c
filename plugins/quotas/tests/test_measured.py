"""What monitoring is shown."""

from __future__ import annotations

from mqframe_quotas.measured import families
from mqframe_quotas.rules.book import Asker, Book
from mqframe_quotas.rules.limits import read_lines


def test_each_quota_has_its_series_however_many_have_it() -> None:
    book = Book(10_000)
    book.change(read_lines(["user:* send_messages=1 connections=2", "topic:orders read_bytes=9"]), 1.0, 0.0)
    for number in range(1000):
        payers = book.payers(Asker(f"user{number}"), 0.0)
        assert book.connect(number, payers) is None
        assert book.send(number, payers, 10, 1, 0.0) is None
    assert book.send(0, book.payers(Asker("user0"), 0.0), 10, 1, 0.0) is not None
    found = {family.name: dict(family.series) for family in families(book.counted())}
    assert found == {
        "mqframe_quota_limit": {
            ("user", "*", "send_messages"): 1,
            ("user", "*", "connections"): 2,
            ("topic", "orders", "read_bytes"): 9,
        },
        "mqframe_quota_used_total": {
            ("user", "*", "send_messages"): 1000,
            ("topic", "orders", "read_bytes"): 0,
        },
        "mqframe_quota_in_use": {("user", "*", "connections"): 1000},
        "mqframe_quota_throttled_total": {
            ("user", "*", "send_messages"): 1,
            ("user", "*", "connections"): 0,
            ("topic", "orders", "read_bytes"): 0,
        },
    }
