from __future__ import annotations

from base64 import b64decode, b64encode
from typing import Any
from urllib.parse import unquote

from hypothesis import given
from hypothesis import strategies as st
from mqframe_etcd.keys import GroupKeys, number, revision_of, transaction

from mqframe.hooks.interfaces import GroupPlace, Snapshot

PLACE = GroupPlace("shop", "broker-a", 2)
NAMES = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)


def entry(key: bytes, value: bytes = b"", revision: int = 0) -> dict[str, Any]:
    """As etcd writes it: what is zero or empty is left out."""
    written: dict[str, Any] = {"key": b64encode(key).decode()}
    if value:
        written["value"] = b64encode(value).decode()
    if revision:
        written["mod_revision"] = str(revision)
    return written


def test_keys_of_a_group_lie_below_its_names() -> None:
    keys = GroupKeys("/mqframe", PLACE)
    assert keys.state == b"/mqframe/shop/broker-a/state"
    assert keys.leader == b"/mqframe/shop/broker-a/leader"
    assert keys.replica == b"/mqframe/shop/broker-a/replicas/2"


@given(NAMES, NAMES, st.integers(0, 9))
def test_names_can_be_read_back_from_keys(cluster: str, broker: str, member: int) -> None:
    keys = GroupKeys("/mqframe", GroupPlace(cluster, broker, member))
    words = keys.replica.decode("ascii").split("/")
    assert [unquote(word) for word in words] == ["", "mqframe", cluster, broker, "replicas", str(member)]


@given(st.tuples(NAMES, NAMES), st.tuples(NAMES, NAMES))
def test_no_key_of_a_group_lies_in_the_range_of_another(one: tuple[str, str], other: tuple[str, str]) -> None:
    mine, others = (GroupKeys("/mqframe", GroupPlace(*names, 1)) for names in (one, other))
    first, end = (b64decode(mine.all()[name]) for name in ("key", "range_end"))
    for key in (others.state, others.leader, others.replica):
        assert (first <= key < end) == (one == other)


def test_a_snapshot_holds_what_the_keys_say() -> None:
    keys = GroupKeys("/mqframe", PLACE)
    found = [
        entry(keys.leader, b"me", 4),
        entry(keys.state, b"\x00\xff", 7),
        entry(keys.prefix + b"replicas/1", b"one", 5),
        entry(keys.prefix + b"replicas/12"),
    ]
    assert keys.snapshot(found) == Snapshot(b"\x00\xff", 7, b"me", {1: b"one", 12: b""})
    assert keys.snapshot([]) == Snapshot(None, 0, None, {})
    assert keys.snapshot([entry(keys.state, b"", 3), entry(keys.leader)]) == Snapshot(b"", 3, b"", {})


def test_keys_of_somebody_else_are_passed_over() -> None:
    keys = GroupKeys("/mqframe", PLACE)
    strange = (b"members/1", b"replicas/", b"replicas/x", b"replicas/1/2", b"\xff", "replicas/²".encode())
    assert keys.snapshot(entry(keys.prefix + name, b"x", 1) for name in strange) == Snapshot(
        None, 0, None, {}
    )


def test_numbers_are_text_and_zero_where_they_are_left_out() -> None:
    assert number({"TTL": "5"}, "TTL") == 5
    assert number({}, "TTL") == 0
    assert revision_of({"header": {"revision": str(1 << 62)}}) == 1 << 62
    assert revision_of({}) == 0


def test_guards_compare_revisions_and_the_lease() -> None:
    keys = GroupKeys("/mqframe", PLACE)
    state, leader = (b64encode(key).decode() for key in (keys.state, keys.leader))
    assert keys.has_version(7) == {"key": state, "target": "MOD", "result": "EQUAL", "mod_revision": "7"}
    absent = {"key": leader, "target": "CREATE", "result": "EQUAL", "create_revision": "0"}
    assert keys.has_no_leader() == absent
    assert keys.is_led_by(9) == [
        {"key": leader, "target": "CREATE", "result": "GREATER", "create_revision": "0"},
        {"key": leader, "target": "LEASE", "result": "EQUAL", "lease": "9"},
    ]


def test_a_transaction_does_nothing_otherwise() -> None:
    keys = GroupKeys("/mqframe", PLACE)
    put = {"request_put": keys.put(keys.leader, b"me", 9)}
    assert transaction([keys.has_no_leader()], put) == {
        "compare": [keys.has_no_leader()],
        "success": [put],
        "failure": [],
    }
    assert put["request_put"]["lease"] == "9"
