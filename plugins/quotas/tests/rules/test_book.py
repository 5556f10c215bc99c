"""Who pays what, and what is left of it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mqframe_quotas.rules.book import OTHERS, Asker, Book, Over
from mqframe_quotas.rules.limits import Quota, read_lines

ALICE = Asker("alice", "10.0.0.1", "orders", "shop")


def book(*lines: str, payers_max: int = 100, burst_seconds: float = 1.0) -> Book:
    made = Book(payers_max)
    made.change(read_lines(lines), burst_seconds, 0.0)
    return made


def names(of: Book, asker: Asker) -> list[tuple[str, str]]:
    return [payer.key for payer in of.payers(asker, 0.0)]


def test_each_kind_pays_that_has_a_quota() -> None:
    one = book("user:alice send_bytes=9", "topic:* send_bytes=9", "group:other send_bytes=9")
    assert names(one, ALICE) == [("user", "alice"), ("topic", "orders")]
    assert names(one, Asker()) == []
    assert one.stands
    assert not book().stands


def test_ones_own_takes_the_place_of_the_default_even_where_it_limits_nothing() -> None:
    one = book("user:* send_messages=1", "user:alice", "user:bob send_messages=2")
    assert one.find("user", "alice") == Quota(kind="user", name="alice")
    assert one.find("user", "carol") == Quota(kind="user", name="*", send_messages=1)
    for _ in range(5):
        assert one.send("a", one.payers(ALICE, 0.0), 10, 1, 0.0) is None
    carol = one.payers(Asker("carol"), 0.0)
    assert one.send("c", carol, 10, 1, 0.0) is None
    assert one.send("c", carol, 10, 1, 0.0) == Over("user", "carol", "send_messages", 1, 1.0)


def test_a_refused_send_is_paid_by_nobody() -> None:
    one = book("user:alice send_messages=1", "topic:orders send_bytes=1000")
    payers = one.payers(ALICE, 0.0)
    assert one.send("a", payers, 100, 1, 0.0) is None
    assert one.send("a", payers, 100, 1, 0.0) == Over("user", "alice", "send_messages", 1, 1.0)
    assert one.left("topic", "orders", 0.0) == {"send_bytes": 900}
    used = {quota.kind: counted.used for quota, counted, _ in one.counted()}
    assert used["topic"]["send_bytes"] == used["user"]["send_bytes"] == 100


def test_sends_are_in_flight_until_they_are_answered() -> None:
    one = book("user:alice in_flight=2", "address:* in_flight=5")
    payers = one.payers(ALICE, 0.0)
    assert one.send("a", payers, 1, 1, 0.0) is None
    assert one.send("b", payers, 1, 1, 0.0) is None
    over = one.send("c", payers, 1, 1, 0.0)
    assert over is not None
    assert over[:4] == ("user", "alice", "in_flight", 2)
    assert one.left("user", "alice", 0.0) == {"in_flight": 0}
    assert one.left("address", "10.0.0.1", 0.0) == {"in_flight": 3}
    one.sent(payers)
    assert one.send("c", payers, 1, 1, 0.0) is None


def test_reads_pay_what_they_were_given_and_the_next_waits_for_that() -> None:
    one = book("group:shop read_messages=10 read_bytes=1000")
    payers = one.payers(ALICE, 0.0)
    assert one.read("a", payers, 0.0) is None
    assert (one.room(payers, "read_messages", 0.0), one.room(payers, "read_bytes", 0.0)) == (10, 1000)
    assert one.room(payers, "send_bytes", 0.0) is None
    one.paid(payers, 200, 25, 0.0)
    assert one.read("a", payers, 0.0) == Over("group", "shop", "read_messages", 10, 1.6)
    later = one.read("a", payers, 0.5, again=True)
    assert later is not None
    assert later.seconds == pytest.approx(1.1)
    assert one.read("a", payers, 1.6) is None
    assert one.room(payers, "read_messages", 1.6) == 1
    ((_, counted, _),) = one.counted()
    assert counted.used == {"send_bytes": 0, "send_messages": 0, "read_bytes": 200, "read_messages": 25}
    assert counted.throttled["read_messages"] == 1, "a read that waits is counted once"


def test_a_read_that_is_given_up_makes_room_for_others() -> None:
    one = book("group:shop read_messages=1")
    payers = one.payers(ALICE, 0.0)
    one.paid(payers, 1, 1, 0.0)
    assert one.read("a", payers, 0.0) is not None
    assert one.read("b", payers, 1.0) is not None, "it is the turn of the other"
    one.gave_up("a", payers)
    assert one.read("b", payers, 1.0) is None


def test_connections_are_counted_once_until_they_close() -> None:
    one = book("address:* connections=2", "user:alice connections=1")
    bob = one.payers(Asker("bob", "10.0.0.1"), 0.0)
    alice = one.payers(ALICE, 0.0)
    assert one.connect("c1", alice) is None
    assert one.connect("c1", alice) is None
    assert one.connect("c2", alice) == Over("user", "alice", "connections", 1, 1.0)
    assert one.connect("c2", bob) is None, "a refused one is not counted"
    assert one.connect("c3", bob) == Over("address", "10.0.0.1", "connections", 2, 1.0)
    one.disconnected("c1")
    one.disconnected("c1")
    assert one.connect("c3", bob) is None


def test_changed_quotas_hold_at_once_and_forget_nothing_that_was_paid() -> None:
    one = book("user:* send_messages=10")
    payers = one.payers(ALICE, 0.0)
    for _ in range(10):
        assert one.send("a", payers, 1, 1, 0.0) is None
    one.change(read_lines(["user:* send_messages=10", "user:alice send_messages=2"]), 1.0, 0.0)
    over = one.send("a", one.payers(ALICE, 0.0), 1, 1, 0.0)
    assert over is not None
    assert over[:4] == ("user", "alice", "send_messages", 2)
    one.change(read_lines(["topic:x send_bytes=1"]), 1.0, 0.0)
    assert one.payers(ALICE, 0.0) == []
    assert [quota.key for quota, _, _ in one.counted()] == [("topic", "x")]
    one.sent(payers)


def test_a_burst_passes_at_once_after_a_pause() -> None:
    one = book("user:alice send_messages=10", burst_seconds=3.0)
    payers = one.payers(ALICE, 0.0)
    assert [one.send("a", payers, 1, 1, 0.0) is None for _ in range(31)] == [True] * 30 + [False]


def test_names_beyond_those_that_are_told_apart_share_one_quota() -> None:
    one = book("user:* send_messages=1 connections=1", "user:named send_messages=1", payers_max=2)
    for name in ("a", "b", "named"):
        assert one.send(name, one.payers(Asker(name), 0.0), 1, 1, 0.0) is None
    (shared,) = one.payers(Asker("c"), 0.0)
    assert shared.key == ("user", OTHERS)
    assert one.send("c", [shared], 1, 1, 0.0) is None
    assert one.send("d", one.payers(Asker("d"), 0.0), 1, 1, 0.0) is not None
    for name in ("a", "b", "c", "named"):
        one.sent(one.payers(Asker(name), 0.0))
    assert names(one, Asker("e")) == [("user", OTHERS)]
    assert one.payers(Asker("e"), 5.0)[0].key == ("user", "e"), "those that were idle are forgotten"


def test_what_is_left_of_who_was_never_there_is_all() -> None:
    one = book("user:* send_bytes=100 connections=3")
    assert one.left("user", "new", 0.0) == {"send_bytes": 100, "connections": 3}
    assert one.left("topic", "orders", 0.0) == {}


LINES = ("user:alice send_messages=5 in_flight=3", "user:* send_bytes=300", "topic:orders send_messages=8")


SENDS = st.tuples(st.sampled_from("ab"), st.floats(0, 1), st.integers(1, 99), st.booleans())


@given(st.lists(SENDS, max_size=60))
def test_all_limits_hold_and_every_message_is_counted(tries: list[tuple[str, float, int, bool]]) -> None:
    one, now = book(*LINES), 0.0
    passed: list[tuple[float, str, int]] = []
    open_sends: list[tuple[str, object]] = []
    for who, gap, size, answered in tries:
        now += gap
        user = {"a": "alice", "b": "bob"}[who]
        payers = one.payers(Asker(user, topic="orders"), now)
        if one.send(who, payers, size, 1, now) is None:
            passed.append((now, user, size))
            open_sends.append((user, payers))
        if answered and open_sends:
            one.sent(open_sends.pop(0)[1])  # type: ignore[arg-type]
        assert sum(user == "alice" for user, _ in open_sends) <= 3
    for first, (begun, *_) in enumerate(passed):
        for last in range(first, len(passed)):
            window = passed[first : last + 1]
            time = passed[last][0] - begun
            assert len(window) <= 8 + 8 * time + 1e-6
            assert sum(user == "alice" for _, user, _ in window) <= 5 + 5 * time + 1e-6
            assert sum(size for _, user, size in window if user == "bob") <= 300 + 300 * time + 1e-3
    counted = {quota.key: each.used for quota, each, _ in one.counted()}
    assert counted["topic", "orders"]["send_messages"] == len(passed)
    assert counted["user", "*"]["send_bytes"] == sum(size for _, user, size in passed if user == "bob")
