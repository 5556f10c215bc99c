"""Offsets of groups, looked at before they are reset."""

from __future__ import annotations

import re

import pytest

from mqframe import Message, Producer


@pytest.fixture
def consumed(boss_admin, boss_access) -> None:
    """Three messages in one queue of `orders`, of which `shipping` has consumed two."""
    boss_admin.topics.create("orders", queues=1)
    boss_admin.groups.create("shipping")
    with Producer(group="shop", **boss_access) as producer:
        for body in (b"one", b"two", b"three"):
            queue = producer.send(Message("orders", body)).queue
    boss_admin.offsets.reset("shipping", "orders", 0)
    boss_admin.offsets.reset_queue("shipping", queue, 2)


def offset(admin) -> int:
    return next(iter(admin.groups.stats("shipping", "orders").values())).consumer_offset


@pytest.mark.usefixtures("consumed")
def test_a_reset_shows_what_changes_and_then_does_it(boss, boss_admin):
    first = boss.browser.page("/offsets", group="shipping")
    assert 'value="orders"' in first
    preview = boss.browser.page("/offsets", group="shipping", topic="orders", to="start")
    assert re.search(r'<td class="number">2</td><td class="number">0</td><td>2 come again</td>', preview)
    assert offset(boss_admin) == 2
    skipped = boss.browser.page("/offsets", group="shipping", topic="orders", to="end")
    assert "1 are skipped" in skipped
    answer = boss.fill_in("/offsets", {"group": "shipping", "topic": "orders", "to": "start"})
    assert "Offsets of shipping were reset" in answer.text, answer.text
    assert offset(boss_admin) == 0
    query = {"group": "shipping", "topic": "orders", "to": "end"}
    boss.fill_in("/offsets", query, back_only="1")
    assert offset(boss_admin) == 0
    boss.fill_in("/offsets", query)
    assert offset(boss_admin) == 3


@pytest.mark.usefixtures("consumed")
def test_places_that_make_no_sense_are_named(boss, boss_admin):
    get = boss.browser.get
    assert "is no time" in get("/offsets", group="shipping", topic="orders", to="soon").text
    assert get("/offsets", group="shipping", topic="order", to="end").status_code == 404
    assert get("/offsets", group="other").status_code == 404
