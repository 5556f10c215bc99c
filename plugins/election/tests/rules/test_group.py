"""What a group keeps in its engine."""

from __future__ import annotations

import pytest
from mqframe_election.rules.group import (
    GroupState,
    LeaderNote,
    ReplicaNote,
    decode_note,
    decode_view,
    encode_note,
)

from mqframe.core.errors import BadAnswer


@pytest.mark.parametrize(
    "note",
    [
        GroupState(epoch=7, leader=2, members=(1, 2), confirmed=1 << 40, note="forced"),
        LeaderNote(2, 7, "10.0.0.2:10911", "10.0.0.2:10912", "word"),
        ReplicaNote(1, 6, 500, 400, 7, is_clean=False, store="s", address="a:1", replication_address="a:2"),
    ],
)
def test_a_note_is_read_back(note: GroupState | LeaderNote | ReplicaNote) -> None:
    assert decode_note(encode_note(note), type(note)) == note


def test_what_a_later_version_adds_is_passed_over() -> None:
    assert decode_note(b'{"epoch":3,"leader":1,"members":[1],"later":true}', GroupState) == GroupState(
        3, 1, (1,)
    )


def test_who_was_ever_in_sync_stays_known() -> None:
    state = GroupState(3, 1, (1, 2)).with_members((1,), 400)
    assert (state.members, state.confirmed, state.known) == ((1,), 400, (1, 2))
    assert state.with_members((1, 3), 500).known == (1, 2, 3)


@pytest.mark.parametrize("data", [b"", b"\xff", b"[]", b'{"id":1}', b'{"epoch":"x"}'])
def test_what_is_no_note_names_the_kind_and_what_to_do(data: bytes) -> None:
    with pytest.raises(BadAnswer, match=r"LeaderNote.*Let no other program"):
        decode_note(data, LeaderNote)


STATE = GroupState(7, 2, (1, 2), known=(1, 2, 3))
LEADER = LeaderNote(2, 7, "h:2", "h:12", "word")
REPLICA = ReplicaNote(2, 7, 500, 400, 7, is_clean=True, store="s", address="h:2", replication_address="h:12")


def test_a_snapshot_is_read_and_tells_where_the_brokers_of_the_group_are() -> None:
    view = decode_view(encode_note(STATE), 9, encode_note(LEADER), {2: encode_note(REPLICA)})
    assert view == (STATE, 9, LEADER, {2: REPLICA}, {})
    assert view.epoch == 7
    assert view.brokers == {1: "", 2: "h:2", 3: ""}
    nothing = decode_view(None, 0, None, {})
    assert nothing == (None, 0, None, {}, {})
    assert (nothing.epoch, nothing.brokers) == (0, {})


def test_a_broker_that_says_what_cannot_be_read_is_as_if_it_were_not_there() -> None:
    view = decode_view(encode_note(STATE), 9, None, {1: b"?", 2: encode_note(REPLICA)})
    assert view.replicas == {2: REPLICA}
    assert list(view.unreadable) == [1]
    assert "something else than a ReplicaNote" in view.unreadable[1]
    with pytest.raises(BadAnswer, match="GroupState"):
        decode_view(b"?", 9, None, {})
    with pytest.raises(BadAnswer, match="LeaderNote"):
        decode_view(None, 0, b"?", {})
