"""Users with any grants who share client ids: each may do what was granted, and nothing else happens."""

from __future__ import annotations

import asyncio
import logging
from collections import defaultdict
from collections.abc import Callable, Sequence
from random import Random
from typing import Any, Final, NamedTuple

import pytest
from doors import MemoryStream, consumer_settings, message, producer_settings, receive_request
from guarded_doors import GuardedScene, acknowledging
from mqframe_admin.access.bodies import AclInfo, PolicyEntryInfo, PolicyInfo
from mqframe_admin.access.requests import AuthCreateAcl, AuthDeleteAcl
from mqframe_grpc.proto import messages as m
from mqframe_grpc.rules.handles import DoorHandle
from silence import logs_kept_to

from mqframe.core.wire.loose_json import dumps

TOPICS: Final = {"orders": 1, "others": 1, "later": 1, "halves": 1}
TYPES: Final = {"later": "DELAY", "halves": "TRANSACTION"}
GROUPS: Final = ("billing", "shipping")
OFFSETS: Final = "counting"
"""The group whose offsets are set, which receives nothing."""
USERS: Final = ("ann", "bob", "cid")
IDS: Final = ("c@1", "c@2")
STEPS: Final = 60
_RESOURCES: Final = (
    *(f"Topic:{name}" for name in TOPICS),
    *(f"Group:{name}" for name in (*GROUPS, OFFSETS)),
    "Topic:o*",
    "Topic:*",
    "Group:*",
)
_HIDDEN_SECONDS: Final = 10
Need = tuple[str, str, str]
"""Kind of a resource, its name, and the actions of which one is enough, by commas."""


class Asked(NamedTuple):
    """A call: what it needs, and what its success means for what the machine remembers.

    `handle`: the receipt handle that it is about.
    """

    rpc: str
    request: Any
    needs: Sequence[Need]
    done: Callable[[Any], None] = lambda answers: None
    handle: str = ""


def topic(name: str, actions: str) -> Need:
    return "Topic", name, actions


def consume(name: str, group: str) -> Sequence[Need]:
    return topic(name, "Sub"), ("Group", group, "Sub")


class Machine:
    """Asks by chance, and knows what has to come of it."""

    def __init__(self, scene: GuardedScene, chance: Random) -> None:
        self.scene = scene
        self.chance = chance
        self.granted: dict[str, set[tuple[str, str]]] = {user: set() for user in USERS}
        self.streams: dict[tuple[str, str], MemoryStream] = {}
        self.settled: dict[tuple[str, str], set[str]] = defaultdict(set)
        self.got: list[tuple[str, Any]] = []
        self.acknowledged: dict[str, set[str]] = defaultdict(set)
        self.buried: dict[str, set[str]] = defaultdict(set)
        self.open: list[tuple[str, str]] = []
        self.counts = {"allowed": 0, "refused": 0}
        self._bodies = 0

    async def run(self) -> None:
        for user in USERS:
            await self.scene.create_user(user)
        for name in TOPICS:
            for _ in range(3):
                await self.store(name)
        for _ in range(STEPS):
            await self.step()
        await self.end()

    async def store(self, name: str) -> None:
        self._bodies += 1
        said: dict[str, Any] = {}
        if name == "later":
            said["delivery_timestamp"] = m.Timestamp(seconds=self.scene.clock.now_ms() // 1000 + 1)
        elif name == "halves":
            said["message_type"] = m.MessageType.TRANSACTION
        entry = await self.scene.send_as("admin", name, b"admin %d" % self._bodies, **said)
        if name == "halves":
            self.open.append((name, entry.transaction_id))

    # Grants

    async def grant(self) -> None:
        """One user may do other things from now on."""
        user = self.chance.choice(USERS)
        if self.granted[user]:
            await self.scene.operate(AuthDeleteAcl(f"User:{user}"))
        found = {
            (self.chance.choice(_RESOURCES), action)
            for action in ("Pub", "Sub", "Sub", "Get", "Update")
            for _ in range(self.chance.choice((0, 1, 2, 3)))
        }
        self.granted[user] = found
        if found:
            actions = defaultdict[str, list[str]](list)
            for resource, action in sorted(found):
                actions[resource].append(action)
            entries = [PolicyEntryInfo(resource, may, "Allow") for resource, may in actions.items()]
            body = dumps(AclInfo([PolicyInfo(entries)]))
            await self.scene.operate(AuthCreateAcl(f"User:{user}"), body)

    def may(self, user: str, needs: Sequence[Need]) -> bool:
        """What grants say, of which none denies anything."""
        return user in self.granted and all(self._one(user, need) for need in needs)

    def _one(self, user: str, need: Need) -> bool:
        kind, name, actions = need
        for pattern, action in self.granted[user]:
            of, _, written = pattern.partition(":")
            fits = name.startswith(written[:-1]) if written.endswith("*") else name == written
            if of == kind and fits and action in actions.split(","):
                return True
        return False

    # Steps

    async def step(self) -> None:
        chance = self.chance
        match chance.randrange(10):
            case 0 | 1:
                await self.grant()
                return
            case 2:
                await self.settle()
                return
            case 3 if chance.random() < 0.3:
                await self.scene.pass_time(chance.choice((1.0, 12.0)))
                return
        user = chance.choice((*USERS, *USERS, "", "nobody"))
        asked = self.asked()
        client = chance.choice(IDS)
        before = self.state()
        members = self.members()
        allowed = self.may(user, asked.needs)
        call = self.scene.start_as(user, asked.rpc, asked.request, client)
        if not allowed:
            await self.scene.settle_loop()
            assert call.task.done(), f"a refusal of {asked.rpc} takes time"
        answers = await self.scene.finish(call.task)
        codes = {answers[0].status.code, *(each.status.code for each in getattr(answers[0], "entries", ()))}
        refused = m.Code.UNAUTHORIZED in codes
        if asked.handle and self.is_over(asked.handle) and not allowed:
            # Of what a handle says by itself anybody is told.
            refused = refused or codes == {m.Code.INVALID_RECEIPT_HANDLE}
        what = f"{asked.rpc} of {user!r}, who needs {asked.needs} and has {self.granted.get(user)}: {answers}"
        assert refused is not allowed, what
        if allowed or m.Code.UNAUTHORIZED in codes:
            self.counts["allowed" if allowed else "refused"] += 1
        if allowed:
            asked.done(answers)
        else:
            assert self.state() == before, f"an effect of {what}"
        own = f"{user}\n{client}"
        assert {each for each in self.members() if each[1] != own} == {
            each for each in members if each[1] != own
        }, f"members besides {own!r} have changed by {what}"
        self.look_at_streams()

    def is_over(self, handle: str) -> bool:
        return DoorHandle.parse(handle).handle.visible_at <= self.scene.clock.now_ms()

    async def settle(self) -> None:
        """A user opens a stream, and says what it sends or reads."""
        chance, user, client = self.chance, self.chance.choice(USERS), self.chance.choice(IDS)
        if chance.random() < 0.5:
            names = chance.sample(sorted(TOPICS), chance.choice((1, 2)))
            said, needs = producer_settings(*names), [topic(name, "Pub") for name in names]
        else:
            name, group = chance.choice(("orders", "others")), chance.choice(GROUPS)
            said, needs = consumer_settings(group, name), list(consume(name, group))
            names = []
        before = self.state()
        headers = self.scene.headers(user)
        stream: MemoryStream = self.scene._serve(MemoryStream, "Telemetry", None, client, None, headers)
        stream.tell(m.TelemetryCommand(settings=said))
        await self.scene.settle_loop()
        refused = stream.answers[0].status.code == m.Code.UNAUTHORIZED
        assert refused is not self.may(user, needs), (user, needs, self.granted[user])
        if refused:
            assert self.state() == before
            return
        self.streams[user, client] = stream
        self.settled[user, client] |= set(names)

    def look_at_streams(self) -> None:
        """Nobody is told of what is another user's, nor loses its stream by what another does."""
        for (user, client), stream in self.streams.items():
            assert not stream.task.done(), f"the stream of {user} {client} has ended"
            for command in stream.commands:
                asked = command.recover_orphaned_transaction_command
                assert asked.message.topic.name in self.settled[user, client], (user, client, command)

    def members(self) -> set[tuple[str, str]]:
        """Groups, and the names of clients that are members."""
        clients = self.scene.cluster.broker.service_port.clients
        found = {
            (name, member.channel._client.name)
            for name, group in clients.consumers.items()
            for member in group.members.values()
        }
        return found | {
            (f"producers of {name}", channel._client.name)
            for name, members in clients.producers.items()
            for channel in members
        }

    def state(self) -> object:
        """What only a call that is allowed may change."""
        scene = self.scene
        broker = scene.cluster.broker
        return broker.store.log.max_offset, self.members(), self.offsets()

    def offsets(self) -> object:
        port = self.scene.cluster.broker.service_port
        return [port.offsets.query(group, name, 0) for group in (*GROUPS, OFFSETS) for name in TOPICS]

    # What is asked

    def asked(self) -> Asked:
        chance = self.chance
        name, group = chance.choice(sorted(TOPICS)), chance.choice(GROUPS)
        of, said = m.Resource(name=name), m.Resource(name=group)
        read = chance.choice(("orders", "others"))
        queue = m.MessageQueue(topic=of, broker=m.Broker(name="broker-a"), id=0)
        counting = m.Resource(name=OFFSETS)
        end = m.EndTransactionRequest(topic=of, message_id="x", transaction_id="x", resolution=1)
        if self.open and chance.random() < 0.7:
            end.topic.name, end.transaction_id = chance.choice(self.open)
        makers: list[Callable[[], Asked]] = [
            lambda: Asked("QueryRoute", m.QueryRouteRequest(topic=of), [topic(name, "Pub,Sub,Get")]),
            lambda: Asked(
                "QueryAssignment", m.QueryAssignmentRequest(topic=of, group=said), consume(name, group)
            ),
            lambda: self._send(name),
            lambda: Asked(
                "RecallMessage",
                m.RecallMessageRequest(topic=of, recall_handle="x"),
                [topic(name, "Pub")],
            ),
            lambda: self._receive(read, group),
            lambda: self._receive(read, group),
            lambda: self._receive(read, group),
            self._of_delivery,
            self._of_delivery,
            self._of_delivery,
            lambda: Asked("EndTransaction", end, [topic(end.topic.name, "Pub")]),
            lambda: Asked(
                "NotifyClientTermination",
                m.NotifyClientTerminationRequest(group=said),
                [("Group", group, "Sub")],
            ),
            lambda: Asked(
                "PullMessage",
                m.PullMessageRequest(
                    group=counting,
                    message_queue=queue,
                    filter_expression=m.FilterExpression(type=m.FilterType.TAG, expression="*"),
                ),
                consume(name, OFFSETS),
            ),
            lambda: Asked(
                "UpdateOffset",
                m.UpdateOffsetRequest(group=counting, message_queue=queue, offset=chance.randrange(3)),
                [topic(name, "Sub,Update"), ("Group", OFFSETS, "Sub,Update")],
            ),
            lambda: Asked(
                "GetOffset",
                m.GetOffsetRequest(group=counting, message_queue=queue),
                [topic(name, "Sub,Get"), ("Group", OFFSETS, "Sub,Get")],
            ),
            lambda: Asked(
                "QueryOffset",
                m.QueryOffsetRequest(message_queue=queue, query_offset_policy=chance.randrange(2)),
                [topic(name, "Sub,Get")],
            ),
        ]
        return chance.choice(makers)()

    def _send(self, name: str) -> Asked:
        self._bodies += 1
        sent = message(name, b"sent %d" % self._bodies)
        if name == "later":
            sent.system_properties.delivery_timestamp.seconds = self.scene.clock.now_ms() // 1000 + 1
        elif name == "halves":
            sent.system_properties.message_type = m.MessageType.TRANSACTION

        def done(answers: Any) -> None:
            assert answers[0].status.code == m.Code.OK, answers
            if name == "halves":
                self.open.append((name, sent.system_properties.message_id))

        return Asked("SendMessage", m.SendMessageRequest(messages=[sent]), [topic(name, "Pub")], done)

    def _receive(self, name: str, group: str) -> Asked:
        def done(answers: Any) -> None:
            self.got += [(group, each.message) for each in answers[1:-1]]

        asked = receive_request(name, group, count=2, invisible_seconds=_HIDDEN_SECONDS)
        return Asked("ReceiveMessage", asked, consume(name, group), done)

    def _of_delivery(self) -> Asked:
        """What is said of something that somebody has received, in its group or another one."""
        chance = self.chance
        if not self.got:
            return self._receive("orders", "billing")
        owner, found = chance.choice(self.got[-6:])
        group = owner if chance.random() < 0.8 else chance.choice(GROUPS)
        said, name = found.system_properties, found.topic.name
        needs = consume(name, group)
        message_id = said.message_id

        def done(answers: Any) -> None:
            if answers[0].status.code == m.Code.OK and group == owner:
                self.acknowledged[group].add(message_id)

        match chance.randrange(4):
            case 0:
                changed = m.ChangeInvisibleDurationRequest(
                    group=m.Resource(name=group),
                    topic=found.topic,
                    receipt_handle=said.receipt_handle,
                    invisible_duration=m.Duration(seconds=chance.choice((0, 5))),
                    message_id=message_id,
                )
                return Asked("ChangeInvisibleDuration", changed, needs, handle=said.receipt_handle)
            case 1:
                buried = m.ForwardMessageToDeadLetterQueueRequest(
                    group=m.Resource(name=group),
                    topic=found.topic,
                    receipt_handle=said.receipt_handle,
                    message_id=message_id,
                )
                return Asked("ForwardMessageToDeadLetterQueue", buried, needs, done, said.receipt_handle)
        return Asked("AckMessage", acknowledging(group, found), needs, done, said.receipt_handle)

    # The end

    async def end(self) -> None:
        """What nobody has acknowledged who may comes again, and nothing else."""
        self.look_at_streams()
        await self.scene.pass_time(200.0)
        for group in GROUPS:
            found = set()
            for name in ("orders", "others"):
                while more := await self.scene.receive_as("admin", name, group, invisible_seconds=600):
                    found |= {each.system_properties.message_id for each in more}
            stored = {each.message_id for name in ("orders", "others") for each in self.scene.stored(name)}
            assert found == stored - self.acknowledged[group], group


@pytest.mark.seeds(3, more=100)
async def test_what_is_granted_is_done_and_nothing_else(seed: int) -> None:
    with logs_kept_to(logging.NullHandler()):
        async with GuardedScene(topics=TOPICS, types=TYPES) as scene:
            for group in (*GROUPS, OFFSETS):
                await scene.create_group(group)
            machine = Machine(scene, Random(f"users {seed}"))
            before = scene.refused()
            await machine.run()
            assert sum(scene.refused()) - sum(before) >= machine.counts["refused"]
            assert machine.counts["refused"] > 5
            for stream in machine.streams.values():
                stream.close()
            await asyncio.gather(*[each.task for each in machine.streams.values()], return_exceptions=True)
