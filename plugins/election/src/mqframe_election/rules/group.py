"""What a group of brokers keeps in its coordination engine, as JSON (election.md §1)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple, TypeVar

import msgspec

from mqframe.core.errors import BadAnswer


class GroupState(msgspec.Struct, frozen=True, forbid_unknown_fields=False):
    """One value, so that one comparison guards all of it.

    `epoch`: number of the last term; `leader`: whose it is, or was; `members`: those in sync, by number:
    each of them has all that was ever acknowledged; `confirmed`: log offset, bytes, up to which that was
    known to be so when the state was written; `note`: what an operator forced, and what that may have lost;
    `forced_epoch`: the term that this began, 0 for none: what was confirmed before it may be gone; `known`:
    all that were ever in sync, by number; `preferred`: of the members, the one that a leader gave up its lead
    for, 0: none. A claim, and a change of the set, take that away.
    """

    epoch: int = 0
    leader: int = 0
    members: tuple[int, ...] = ()
    confirmed: int = 0
    note: str = ""
    forced_epoch: int = 0
    known: tuple[int, ...] = ()
    preferred: int = 0

    def with_members(self, members: Iterable[int], confirmed: int) -> GroupState:
        """The same with another set, which is `known` from then on."""
        made = tuple(members)
        known = tuple(sorted({*self.known, *self.members, *made}))
        return msgspec.structs.replace(self, members=made, confirmed=confirmed, known=known, preferred=0)

    def preferring(self, number: int) -> GroupState:
        """The same with `number` as the one that is to lead next."""
        return msgspec.structs.replace(self, preferred=number)


class LeaderNote(msgspec.Struct, frozen=True):
    """Who leads, and where. `claim`: a word of its own for each claim, so that one is found again.

    `address`: where requests are served, `replication_address`: where the log is copied; "host:port" each.
    """

    id: int
    epoch: int
    address: str
    replication_address: str
    claim: str


class ReplicaNote(msgspec.Struct, frozen=True):
    """What a broker of the group says of itself.

    `epoch`: that of its log's end; `end`: where its log ends, bytes; `confirmed`: up to where it knows that
    all members had the log; `ready`: up to which epoch it follows no leader any more, so that `end` is final
    for an election; `is_clean`: whether it has everything that it ever said to have; `store`: an id of its
    folder, made once. `unable`: why it cannot store what it is sent, a sentence; empty: it can; `has_room`:
    whether the next file of its log can be made, too.
    """

    id: int
    epoch: int
    end: int
    confirmed: int
    ready: int
    is_clean: bool
    store: str
    address: str
    replication_address: str
    unable: str = ""
    has_room: bool = True


T = TypeVar("T", GroupState, LeaderNote, ReplicaNote)
_encoder = msgspec.json.Encoder()


def encode_note(note: GroupState | LeaderNote | ReplicaNote) -> bytes:
    """`note` as JSON."""
    return _encoder.encode(note)


def decode_note(data: bytes, kind: type[T]) -> T:
    """The inverse. Raises `BadAnswer` for what is no such note."""
    try:
        return msgspec.json.decode(data, type=kind)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as problem:
        raise BadAnswer(
            f"the coordination engine holds something else than a {kind.__name__}: {problem}. Let no other"
            " program write below the prefix of this group"
        ) from None


class GroupView(NamedTuple):
    """What the engine held at one moment, read.

    `state`: `None` before the first leader; `version`: of `state`, 0 without one; `leader`: `None` while
    nobody leads; `replicas`: what the brokers that are alive say of themselves, by number; `unreadable`: what
    is wrong with notes that cannot be read, by number.
    """

    state: GroupState | None
    version: int
    leader: LeaderNote | None
    replicas: Mapping[int, ReplicaNote]
    unreadable: Mapping[int, str]

    @property
    def epoch(self) -> int:
        """Of the last term; 0 before the first one."""
        return 0 if self.state is None else self.state.epoch

    @property
    def brokers(self) -> dict[int, str]:
        """Where the brokers of the group are, by number, "host:port", empty for those that are not there."""
        known = () if self.state is None else {*self.state.known, *self.state.members}
        return dict.fromkeys(known, "") | {number: note.address for number, note in self.replicas.items()}


def decode_view(
    state: bytes | None, version: int, leader: bytes | None, replicas: Mapping[int, bytes]
) -> GroupView:
    """A snapshot of the engine, read. Raises `BadAnswer` where state or leader are something else."""
    readable: dict[int, ReplicaNote] = {}
    unreadable: dict[int, str] = {}
    for number, data in replicas.items():
        try:
            readable[number] = decode_note(data, ReplicaNote)
        except BadAnswer as problem:
            unreadable[number] = str(problem)
    return GroupView(
        None if state is None else decode_note(state, GroupState),
        version,
        None if leader is None else decode_note(leader, LeaderNote),
        readable,
        unreadable,
    )
