"""What a group of brokers with an elected leader promises, checked on plain observations.

Each function is one promise; it raises `Broken`. `Promises` collects what is seen during a run, and checks at
each observation what that can show.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from itertools import combinations
from typing import NamedTuple

Queue = tuple[str, int]
"""A topic and a queue number."""


class Broken(AssertionError):
    """A promise that was not kept."""


class Acknowledged(NamedTuple):
    """A send that was answered with success.

    `body`: unlike that of any other send, and part of none. `end`: the log offset behind the body. `epoch`
    and `leader`: of whoever answered. `tries`: how often it was sent, so at most so many copies may be there.
    """

    body: bytes
    end: int
    epoch: int
    leader: str
    tries: int = 1


class Log(NamedTuple):
    """The log of a member from offset `base` on. `confirmed`: what it tells its readers to be safe."""

    base: int
    data: bytes
    confirmed: int = 0

    @property
    def end(self) -> int:
        return self.base + len(self.data)

    def part(self, start: int, end: int) -> bytes:
        return self.data[start - self.base : end - self.base]


class Readable(NamedTuple):
    """The bodies of a queue that can be read, from queue offset `first` on."""

    first: int
    bodies: Sequence[bytes]


class Seen(NamedTuple):
    """What a reader was given: `body`, at `offset` of `queue`."""

    queue: Queue
    offset: int
    body: bytes


# Promises


def what_was_acknowledged_is_there(acknowledged: Iterable[Acknowledged], epoch: int, log: Log) -> None:
    """The leader of `epoch` has the sends of its own and earlier epochs, where they were told to be, once."""
    for each in acknowledged:
        if each.epoch > epoch or each.end - len(each.body) < log.base:
            continue  # of a later leader, of which this one need not know; or cleaned up
        who = f"{each.body[:20]!r}, which {each.leader} acknowledged in epoch {each.epoch},"
        places = [log.base + at + len(each.body) for at in _found(each.body, log.data)]
        if not places:
            raise Broken(f"{who} is not in the log of the leader of epoch {epoch}")
        if each.end not in places:
            raise Broken(f"{who} is at {places[0]}, not at {each.end}, at the leader of epoch {epoch}")
        if len(places) > each.tries:
            raise Broken(f"{who} was sent {each.tries} times, and is at {places}")


def sends_are_acknowledged_at_one_place(acknowledged: Iterable[Acknowledged]) -> None:
    """Nobody is told two places of what was sent once, and no place is told for two sends."""
    ends: dict[bytes, set[int]] = {}
    bodies: dict[int, bytes] = {}
    for each in acknowledged:
        ends.setdefault(each.body, set()).add(each.end)
        if len(ends[each.body]) > each.tries:
            raise Broken(
                f"{each.body[:20]!r} was sent {each.tries} times, acknowledged at {sorted(ends[each.body])}"
            )
        other = bodies.setdefault(each.end, each.body)
        if other != each.body:
            raise Broken(f"{other[:20]!r} and {each.body[:20]!r} were both acknowledged at {each.end}")


def an_epoch_has_one_leader(acknowledged: Iterable[tuple[int, str]]) -> None:
    """Of all who acknowledged anything (epoch, member), no two did so in one epoch."""
    leaders: dict[int, str] = {}
    for epoch, member in acknowledged:
        other = leaders.setdefault(epoch, member)
        if other != member:
            raise Broken(f"{other} and {member} both acknowledged in epoch {epoch}")


def confirmed_logs_agree(logs: Mapping[str, Log]) -> None:
    """Any two logs are alike, byte for byte, as far as both members call them confirmed."""
    for name, log in logs.items():
        if log.confirmed > log.end:
            raise Broken(f"{name} tells that {log.confirmed} is confirmed, and its log ends at {log.end}")
    for (one, first), (other, second) in combinations(logs.items(), 2):
        start, end = max(first.base, second.base), min(first.confirmed, second.confirmed)
        if end <= start:
            continue
        mine, theirs = first.part(start, end), second.part(start, end)
        if mine != theirs:
            at = next(number for number, byte in enumerate(mine) if byte != theirs[number])
            raise Broken(f"the logs of {one} and {other} differ at {start + at}, below {end}, confirmed")


def what_was_seen_stays(seen: Iterable[Seen], queues: Mapping[Queue, Readable]) -> None:
    """What a reader was given is still there, unless it was cleaned up."""
    for each in seen:
        first, bodies = queues.get(each.queue, Readable(0, ()))
        place = f"{each.queue[0]}:{each.queue[1]}, {each.offset}"
        if each.offset < first:
            continue
        if each.offset >= first + len(bodies):
            raise Broken(f"{each.body[:20]!r} was read at {place}, and is gone")
        now = bodies[each.offset - first]
        if now != each.body:
            raise Broken(f"{each.body[:20]!r} was read at {place}, where {now[:20]!r} is now")


class Forward:
    """Numbers that only ever grow: confirmed offsets, ends of queues, progress of groups."""

    def __init__(self) -> None:
        self._last: dict[Hashable, int] = {}

    def note(self, what: Hashable, value: int) -> None:
        """`what` is `value` now. Raises `Broken` when it was more before."""
        last = self._last.get(what, value)
        if value < last:
            raise Broken(f"{what} went back from {last} to {value}")
        self._last[what] = value

    def forget(self, what: Hashable) -> None:
        """`what` begins anew, as that of a member whose disk is empty."""
        self._last.pop(what, None)


# What is collected during a run


class Promises:
    """Observations of one run. Each method may raise `Broken`, and is told of them in the order of time."""

    def __init__(self) -> None:
        self.sends: list[Acknowledged] = []
        self.forward = Forward()
        self._leaders: dict[int, str] = {}
        self._seen: dict[tuple[Queue, int], Seen] = {}
        self._committed: dict[tuple[str, Queue], int] = {}

    def acknowledged(self, send: Acknowledged) -> None:
        """A send was answered with success."""
        an_epoch_has_one_leader([*self._leaders.items(), (send.epoch, send.leader)])
        self._leaders[send.epoch] = send.leader
        self.sends.append(send)

    def told(self, member: str, life: int, confirmed: int) -> None:
        """`member`, in its present life on its disk, tells that what is below `confirmed` is safe."""
        self.forward.note(f"the confirmed offset of {member} in life {life}", confirmed)

    def saw(self, reader: str, seen: Seen) -> None:
        """A reader was given a message, by whichever member."""
        before = self._seen.setdefault((seen.queue, seen.offset), seen)
        if before != seen:
            place = f"{seen.queue[0]}:{seen.queue[1]}, {seen.offset}"
            raise Broken(f"{reader} read {seen.body[:20]!r} at {place}, where {before.body[:20]!r} was read")

    def committed(self, group: str, queue: Queue, offset: int) -> None:
        """A commit of a group's progress was answered with success."""
        self._committed[group, queue] = offset

    def members_are(self, logs: Mapping[str, Log]) -> None:
        """The logs of members that run, at one moment."""
        confirmed_logs_agree(logs)

    def leader_is(
        self,
        epoch: int,
        log: Log,
        queues: Mapping[Queue, Readable],
        committed: Mapping[tuple[str, Queue], int],
    ) -> None:
        """What the leader of `epoch`, the latest, has, once it takes sends."""
        sends_are_acknowledged_at_one_place(self.sends)
        what_was_acknowledged_is_there(self.sends, epoch, log)
        what_was_seen_stays(self._seen.values(), queues)
        for key, offset in self._committed.items():
            found = committed.get(key, 0)
            if found < offset:
                group, (topic, number) = key
                raise Broken(f"{group} committed {offset} of {topic}:{number}, and is at {found} again")


def _found(body: bytes, data: bytes) -> Iterator[int]:
    at = data.find(body)
    while at >= 0:
        yield at
        at = data.find(body, at + 1)
