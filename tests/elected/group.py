"""An elected group on a network that fails, and what has to hold after each step."""

from __future__ import annotations

import asyncio
import contextlib
from pathlib import Path
from random import Random

from elected.members import Member, Members
from elected.promises import Acknowledged, Broken, Log, Promises, Queue, Readable, Seen
from mqframe_admin.requests import HandOverLead
from mqframe_election.rules.group import GroupState, ReplicaNote, decode_note
from mqframe_testing.coordination import MemoryCoordination
from mqframe_testing.simulation import Simulation
from stories.machines import a_send, log_of, messages_of
from trust.disk import Disk

from mqframe.broker.broker import Broker
from mqframe.core.codes import PullFlag
from mqframe.core.errors import MqframeError
from mqframe.core.requests.election import ForceElection
from mqframe.core.requests.messages import PullMessage
from mqframe.core.storage.record import decode_records
from mqframe.hooks.interfaces import GroupPlace
from mqframe.net.client import Client

QUEUES: tuple[Queue, ...] = (("t", 0), ("t", 1))
LOOKS_WHOLE = 8
"""So many checks go by between two that read all that a leader has."""


class Group:
    """Its members, who sends and reads, and what was promised to them.

    The seed of `simulation` says what follows; `disk`: where writes are recorded. `confirmed`: the beginning
    of the log that anybody called confirmed, which has to be that of all from then on.
    """

    def __init__(self, folder: Path, simulation: Simulation, disk: Disk | None) -> None:
        chance = self.chance = Random(f"group {simulation.seed}")
        self.simulation, self.network, self.clock = simulation, simulation.network, simulation.clock
        self.members = Members(folder, simulation, chance.choice((2, 2, 3)), disk)
        self.members.flush = chance.choice(("SYNC_FLUSH", "ASYNC_FLUSH"))
        self.members.replication = {
            "batch_bytes": chance.choice((37, 700, 32_768)),
            "min_in_sync": chance.choice((1, 1, 2)),
        }
        self.lengths = chance.choice(((1, 1500), (1, 1500), (200, 200)))
        """Of bodies. Where all are alike, records of logs that differ have the same places."""
        self.promises = Promises()
        self.confirmed = bytearray()
        self.forced = 0
        self.count = 0
        self._compared: dict[str, tuple[Broker, bool, int]] = {}
        self._progress = dict.fromkeys(QUEUES, 0)
        self._looks = self._newest = self._forced_after = 0
        self._unanswered: tuple[Member, int] | None = None
        """Who was told last to lead, and did not answer; the newest epoch then."""
        self._epoch_seen = 0

    # Members

    def names(self) -> list[str]:
        return list(self.members.all)

    def runs(self, name: str) -> bool:
        return self.members.all[name].broker is not None

    async def start(self, name: str) -> None:
        await self.members.start(name)

    async def stop(self, name: str, *, kill: bool) -> None:
        await self.members.stop(name, kill=kill)

    # Messages

    def send(self, client: Client) -> list[asyncio.Task[bool]]:
        """Send a message to each that leads, or to anybody; what is answered is looked at when it comes."""
        running = self.members.running()
        targets = self.members.leaders() or ([self.chance.choice(running)] if running else [])
        return [asyncio.ensure_future(self._send(client, target)) for target in targets]

    async def _send(self, client: Client, target: Member) -> bool:
        self.count += 1
        body = b"<%d:" % self.count + b"." * self.chance.randint(*self.lengths) + b">"
        request = a_send(self.count, self.clock.now_ms())
        try:
            answer = await client.invoke(target.address, request, body, timeout=30)
        except MqframeError:
            return False
        if answer.code == 0:
            self._acknowledged(target, body, int(answer.ext["msgId"][16:], 16))
        return answer.code == 0

    def _acknowledged(self, target: Member, body: bytes, offset: int) -> None:
        inner = target.inner
        log = b"" if inner is None else log_of(inner, offset, min(inner.store.log.max_offset, offset + 2000))
        epoch = self.members.history(target).at(offset)
        # Without a log to look at: whoever has it later says where it is.
        end = offset + log.find(body) + len(body) if body in log else -1
        if end < 0 and inner is not None and target.leads and target.epoch == epoch:
            raise Broken(f"{body[:20]!r} was acknowledged at {offset} by {target.name}, which has it not")
        if end >= 0:
            self.promises.acknowledged(Acknowledged(body, end, epoch, target.name))

    async def read(self, client: Client, member: Member, queue: Queue) -> None:
        """Pull of `queue` from any member, whether it leads or not."""
        at = self._progress[queue] if self.chance.random() < 0.7 else 0
        request = PullMessage(
            topic=queue[0], consumer_group="g", queue_id=queue[1], max_msg_nums=32, queue_offset=at,
            sys_flag=PullFlag.SUBSCRIPTION, commit_offset=0, suspend_timeout_millis=0, sub_version=0,
            subscription="*",
        )  # fmt: skip
        asked = member.inner
        try:
            answer = await client.invoke(member.address, request, timeout=5)
        except MqframeError:
            return
        if answer.code == 0:
            for message in decode_records(answer.body):
                if asked is member.inner and asked is not None:
                    end = asked.store.log.confirmed_offset
                    if message.commit_log_offset >= end:
                        raise Broken(
                            f"{member.name} let {message.commit_log_offset} be read, confirmed is {end}"
                        )
                self.promises.saw(member.name, Seen(queue, message.queue_offset, message.body))
                self._progress[queue] = max(self._progress[queue], message.queue_offset + 1)

    # An operator

    async def force(self, client: Client, member: Member) -> bool:
        """Have `member` lead with what it has; whether that is done, as far as it answers."""
        if member.inner is None:
            return False
        try:
            answer = await client.invoke(member.address, ForceElection(accept_loss=True), timeout=30)
        except MqframeError:
            self._unanswered = member, self._newest  # it may do so all the same
            return False
        if answer.code:
            return False
        self._is_forced(member)
        return True

    async def hand_over(self, client: Client, member: Member, to: int, seconds: float) -> None:
        """Have `member` hand over its lead to the broker `to`, 0: any, whether it does so or not."""
        request = HandOverLead(to, int(seconds * 1000))
        with contextlib.suppress(MqframeError):
            await client.invoke(member.address, request, timeout=30)

    def _is_forced(self, member: Member) -> None:
        """What `member` lacks is promised no more."""
        self.forced += 1
        self._forced_after = self._newest + 1
        assert member.inner is not None
        self._give_up(log_of(member.inner, 0))

    def _note_unanswered(self) -> None:
        """Find out whether the last operator's word without an answer was heeded."""
        if self._unanswered is None:
            return
        member, newest = self._unanswered
        if member.election is None or member.inner is None:
            return
        seen = member.election.elector.seen
        if seen is not None and seen.leader == member.number and seen.forced_epoch > newest:
            self._unanswered = None
            self._is_forced(member)

    def _give_up(self, log: bytes) -> None:
        common = next(
            (at for at, (one, other) in enumerate(zip(self.confirmed, log, strict=False)) if one != other),
            min(len(self.confirmed), len(log)),
        )
        del self.confirmed[common:]
        sends = [
            each for each in self.promises.sends if log[each.end - len(each.body) : each.end] == each.body
        ]
        self.promises = Promises()
        for each in sends:
            self.promises.acknowledged(each)
        self._compared.clear()
        self._progress = dict.fromkeys(QUEUES, 0)

    async def recorded(self) -> tuple[GroupState | None, dict[int, ReplicaNote]]:
        """What the engine holds."""
        snapshot = await MemoryCoordination(self.members.engine.memory, self.clock).look(
            GroupPlace("DefaultCluster", "broker-a", 99)
        )
        notes = {number: decode_note(each, ReplicaNote) for number, each in snapshot.replicas.items()}
        return None if snapshot.state is None else decode_note(snapshot.state, GroupState), notes

    # What has to hold

    def check(self, *, whole: bool = False) -> None:
        """Raise `Broken` for what does not hold now."""
        self._note_unanswered()
        self._newest = max([self._newest, *[each.epoch for each in self.members.running()]])
        for member in self.members.running():
            if member.inner is not None:
                self._check_alone(member, member.inner)
        newest = [each for each in self.members.leaders() if each.epoch == self._newest]
        self._looks += 1
        for member in newest:
            if member.epoch != self._epoch_seen or whole or self._looks % LOOKS_WHOLE == 0:
                assert member.inner is not None
                self._check_leader(member, member.inner)

    def are_alike(self) -> bool:
        """Whether one leads, and all others follow it and have what it has, all of it confirmed."""
        inner = [each.inner for each in self.members.running()]
        ends = {None if each is None else each.store.log.max_offset for each in inner}
        confirmed = {None if each is None else each.store.log.confirmed_offset for each in inner}
        return len(ends) == 1 and ends == confirmed and None not in ends and self._follow_one()

    def promised(self) -> object:
        return self.promises.sends

    def _follow_one(self) -> bool:
        followers = [each.inner for each in self.members.running() if not each.leads]
        follow = [each is not None and each.counters()["replicationFollows"] == "true" for each in followers]
        return len(self.members.leaders()) == 1 and all(follow)

    def _check_alone(self, member: Member, broker: Broker) -> None:
        """What `member` calls confirmed is what was confirmed; of one that leads its term's log is, too."""
        store = broker.store
        confirmed = store.log.confirmed_offset
        if self.forced and self.members.history(member).last_epoch < self._forced_after:
            return  # what it knew to be confirmed may be given up; it is cut before it follows
        if confirmed > store.log.max_offset:
            raise Broken(f"{member.name} confirms {confirmed}, and its log ends at {store.log.max_offset}")
        self.promises.told(member.name, member.process, confirmed)
        known, _, start = self._compared.get(member.name, (broker, False, 0))
        start = start if known is broker else 0
        is_newest = member.leads and member.epoch == self._newest
        bound = len(self.confirmed) if is_newest else confirmed
        if is_newest and store.log.max_offset < bound:
            raise Broken(
                f"{member.name} leads in epoch {member.epoch} and has {store.log.max_offset} bytes, of"
                f" {bound} that were confirmed"
            )
        self._agrees(member, broker, start, max(confirmed, bound))
        self._compared[member.name] = (broker, member.leads, min(confirmed, len(self.confirmed)))

    def _agrees(self, member: Member, broker: Broker, start: int, end: int) -> None:
        mine = log_of(broker, start, end)
        theirs = bytes(self.confirmed[start:end])
        if mine[: len(theirs)] != theirs:
            at = next(number for number, byte in enumerate(theirs) if mine[number] != byte)
            what = "leads" if member.leads else "follows"
            raise Broken(
                f"{member.name} {what} in epoch {member.epoch}, and its log differs at {start + at}, below"
                f" {end}, from what was confirmed; set aside: {self.members.set_aside(member)}"
            )
        self.confirmed += mine[len(theirs) :]

    def _check_leader(self, member: Member, broker: Broker) -> None:
        store = broker.store
        if store.log.confirmed_offset < len(self.confirmed):
            return  # it does not serve yet
        self._epoch_seen = member.epoch
        queues = {queue: readable(broker, queue) for queue in QUEUES}
        log = Log(store.log.min_offset, log_of(broker, store.log.min_offset), store.log.confirmed_offset)
        self.promises.leader_is(member.epoch, log, queues, {})


def readable(broker: Broker, queue: Queue) -> Readable:
    """All that can be read of a queue."""
    first = broker.store.queues.min_offset(*queue)
    return Readable(first, [body for _, body in messages_of(broker, *queue)])
