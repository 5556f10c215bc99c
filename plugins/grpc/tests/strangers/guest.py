"""A normal client of gRPC beside the strangers: what it is promised has to hold after everything."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Callable
from random import Random
from typing import Any, Final

from doors import acknowledgement, consumer_settings, message, receive_request
from mqframe_admin.requests import UpdateAndCreateSubscriptionGroup
from mqframe_grpc.door import SERVICE
from mqframe_grpc.proto import messages as m
from mqframe_grpc.transport.messages import framed
from mqframe_testing.simulation import SimulatedLoop
from strangers.learned import Learned
from strangers.line import Asked, DoorLine, head, opened, reset, sent

from mqframe.core.consuming.group_config import SubscriptionGroupConfig
from mqframe.core.requests.admin import UpdateAndCreateTopic
from mqframe.core.wire.loose_json import dumps
from mqframe.net.client import Client

CLIENT: Final = "guest@1@2@3"
READERS, IN_ORDER, BESIDE = "guest-readers", "guest-fifos", "guest-beside"
"""Consumer groups: of most topics, of the one in order, and of the topic that strangers use, too."""
PLAIN, ORDERED, HALVES, LATER, SHARED = "guest-plain", "guest-fifo", "guest-half", "guest-later", "fuzz-a"
_TYPES: Final = {PLAIN: "", ORDERED: "FIFO", HALVES: "TRANSACTION", LATER: "DELAY"}
_WAIT_SECONDS: Final = 30.0
_HIDDEN_SECONDS: Final = 60
_LONG_SECONDS: Final = 3600
"""For so long would be hidden what is lost with a call."""
_BROKER: Final = "127.0.0.1:10911"


class Guest:
    """Sends and receives over one connection. `learned`: is told its handles and ids, for strangers to try.

    `held`: what it works on, as a push consumer does.
    """

    def __init__(self, loop: SimulatedLoop, port: int, learned: Learned) -> None:
        self._loop = loop
        self._clock = loop.clock
        self._port = port
        self._learned = learned
        self._remoting = Client(loop.clock)
        self._chance = Random("guest")
        self._number = 0
        self._next = {"a": 0, "b": 0}
        self._expected: dict[str, set[bytes]] = defaultdict(set)
        self._done: set[bytes] = set()
        self._may_come_again: set[bytes] = set()
        self.held: Any = None
        self.line: DoorLine
        self._stream = 0

    async def start(self) -> None:
        for topic, kind in _TYPES.items():
            attributes = f"+message.type={kind}" if kind else ""
            made = UpdateAndCreateTopic(
                topic=topic, read_queue_nums=2, write_queue_nums=2, perm=6, attributes=attributes
            )
            assert (await self._remoting.invoke(_BROKER, made)).code == 0
        for group in (READERS, IN_ORDER, BESIDE):
            config = SubscriptionGroupConfig(group, consume_message_orderly=group == IN_ORDER)
            asked = UpdateAndCreateSubscriptionGroup()
            assert (await self._remoting.invoke(_BROKER, asked, dumps(config))).code == 0
        await self.connect()

    async def connect(self) -> None:
        """Begin, at the start and after one of the broker: without its door what was in work is let go."""
        self.held = None
        self.line = DoorLine(self._loop, self._port)
        self.line.wake = asyncio.Event()
        settings = consumer_settings(READERS, PLAIN, kind=m.ClientType.PUSH_CONSUMER)
        self._stream = self._open("Telemetry", m.TelemetryCommand(settings=settings), end=False)
        await self._until(lambda: bool(self.line.asked[self._stream].answers))
        await self.beat()

    async def stop(self) -> None:
        self.line.close()
        await self._remoting.close()

    def killed(self) -> None:
        """The broker was: it may have forgotten what was done a moment ago, and what it hid anew."""
        self._may_come_again |= self._done
        self._done.clear()
        if self.held is not None:
            self._may_come_again.add(self.held.body)

    async def beat(self) -> None:
        answer = await self._ask("Heartbeat", m.HeartbeatRequest())
        assert answer.status.code == m.Code.OK, f"guest: heartbeat: {answer.status}"

    # What has to hold

    async def check(self) -> None:
        """What it sends is stored, comes once, in order where there is one, and is gone once acknowledged."""
        assert not self.line.closed, "guest: the connection was closed"
        assert not self.line.asked[self._stream].over, "guest: the stream has ended"
        await self._work_done()
        for _ in range(3):
            await self._send(PLAIN)
        await self._send(SHARED)
        for group in "abba":
            await self._send(ORDERED, group)
        await self._transactions()
        await self._drain(PLAIN, READERS)
        await self._give_up()
        await self._drain(PLAIN, READERS)
        await self._drain(SHARED, BESIDE)
        await self._drain(HALVES, READERS)
        await self._drain(ORDERED, IN_ORDER)
        await self._work()

    async def check_later(self) -> None:
        """What is delivered later comes when it is due."""
        body = self._body()
        now_s = self._clock.now_ms() // 1000
        later = message(LATER, body, delivery_timestamp=m.Timestamp(seconds=now_s + 5))
        await self._store(later)
        self._expected[LATER].add(body)
        await self._pass(8.0)
        await self._drain(LATER, READERS)

    async def check_end(self) -> None:
        """Nothing that was acknowledged comes again."""
        await self._work_done()
        self._may_come_again.clear()
        for topic, group in ((PLAIN, READERS), (HALVES, READERS), (LATER, READERS), (ORDERED, IN_ORDER)):
            await self._drain(topic, group)
        await self._pass(_HIDDEN_SECONDS + 10.0)
        for topic, group in ((PLAIN, READERS), (HALVES, READERS), (LATER, READERS), (ORDERED, IN_ORDER)):
            found = await self._receive(topic, group, 8)
            assert not found, f"guest: {[each.body for each in found]} of {topic} came again"

    # What it does

    async def _send(self, topic: str, group: str = "") -> None:
        body = self._body()
        said: dict[str, Any] = {}
        if group:
            body = b"%s %d" % (group.encode(), self._count(group))
            said["message_group"] = group
        await self._store(message(topic, body, **said))
        self._expected[topic].add(body)

    def _count(self, group: str) -> int:
        self._next[group] += 1
        return self._next[group]

    def _body(self) -> bytes:
        self._number += 1
        return b"guest %d" % self._number

    async def _store(self, made: Any) -> Any:
        answer = await self._ask("SendMessage", m.SendMessageRequest(messages=[made]))
        assert answer.status.code == m.Code.OK, f"guest: send to {made.topic.name}: {answer.status}"
        self._learned.note("others' message", answer.entries[0].message_id)
        return answer.entries[0]

    async def _transactions(self) -> None:
        for resolution in (m.TransactionResolution.COMMIT, m.TransactionResolution.ROLLBACK):
            body = self._body()
            entry = await self._store(message(HALVES, body, message_type=m.MessageType.TRANSACTION))
            self._learned.note("others' transaction", entry.transaction_id)
            end = m.EndTransactionRequest(
                topic=m.Resource(name=HALVES),
                message_id=entry.message_id,
                transaction_id=entry.transaction_id,
                resolution=resolution,
                source=m.TransactionSource.SOURCE_CLIENT,
            )
            answer = await self._ask("EndTransaction", end)
            assert answer.status.code == m.Code.OK, f"guest: end of a transaction: {answer.status}"
            if resolution == m.TransactionResolution.COMMIT:
                self._expected[HALVES].add(body)

    async def _drain(self, topic: str, group: str) -> None:
        """Receive until all that is expected has come, each once; then all is acknowledged."""
        wanted = self._expected[topic]
        empty = 0
        while wanted or topic == SHARED:
            found = await self._receive(topic, group, 3 if topic == ORDERED else 32)
            if not found:
                empty += 1
                if topic == SHARED and not wanted:
                    return
                assert empty < 8, f"guest: {sorted(wanted)} of {topic} did not come"
            for each in found:
                self._came(topic, each.body)
            if found:
                await self._acknowledge(group, found)

    def _came(self, topic: str, body: bytes) -> None:
        wanted = self._expected[topic]
        known = body in wanted
        if topic == ORDERED and known:
            name, _, number = body.partition(b" ")
            earlier = [each for each in wanted if each.startswith(name) and each != body]
            late = [each for each in earlier if int(each.partition(b" ")[2]) < int(number)]
            assert not late, f"guest: {body!r} came before {late}"
        if topic != SHARED or body.startswith(b"guest "):
            again = body in self._may_come_again
            assert known or again, f"guest: {body!r} came of {topic}, known: {body in self._done}"
        wanted.discard(body)
        self._done.add(body)

    async def _receive(self, topic: str, group: str, count: int, *, renewed: bool = False) -> list[Any]:
        asked = receive_request(
            topic, group, count=count, invisible_seconds=_HIDDEN_SECONDS, auto_renew=renewed
        )
        answers = await self._all("ReceiveMessage", asked, m.ReceiveMessageResponse)
        code = answers[0].status.code
        assert code in (m.Code.OK, m.Code.MESSAGE_NOT_FOUND), f"guest: receive: {answers[0].status}"
        assert answers[-1].WhichOneof("content") == "delivery_timestamp", "guest: a receive has no end"
        found = [each.message for each in answers[1:-1]]
        for each in found:
            said = each.system_properties
            self._learned.note("others' handle", said.receipt_handle)
            self._learned.others.append((topic, said.message_id, said.receipt_handle))
        return found

    async def _give_up(self) -> None:
        """Wait for a message, and give that up as it comes: who asks next gets it soon."""
        for _ in range(3):
            asked = receive_request(PLAIN, READERS, seconds=20.0, invisible_seconds=_LONG_SECONDS)
            receiving, data = self._bytes("ReceiveMessage", asked)
            self.line.send(data)
            await self._loop.settle()
            body = self._body()
            sending, data = self._bytes("SendMessage", m.SendMessageRequest(messages=[message(PLAIN, body)]))
            self._expected[PLAIN].add(body)
            steps = [data, reset(receiving)]
            turns = self._chance.choice((0, 0, 1, 2, 3))
            if turns == 0:
                self._chance.shuffle(steps)
                steps = [b"".join(steps)]
            for each in steps:
                self.line.send(each)
                for _ in range(turns):
                    await asyncio.sleep(0)
            await self._until(lambda sending=sending: self.line.asked[sending].over)
            del self.line.asked[sending]
            answers = map(m.ReceiveMessageResponse.FromString, self.line.asked.pop(receiving).answers)
            if found := [each.message for each in answers if each.WhichOneof("content") == "message"]:
                for each in found:
                    self._came(PLAIN, each.body)
                await self._acknowledge(READERS, found)

    async def _acknowledge(self, group: str, found: list[Any]) -> None:
        answer = await self._ask("AckMessage", acknowledgement(group, found))
        codes = {each.status.code for each in answer.entries}
        assert codes == {m.Code.OK}, f"guest: acknowledgement: {answer}"

    async def _work(self) -> None:
        """Take a message, as a push consumer does that needs some time for it."""
        await self._send(PLAIN)
        for _ in range(8):
            found = await self._receive(PLAIN, READERS, 32, renewed=True)
            for each in found:
                if each.body in self._expected[PLAIN]:
                    self.held = each
                else:
                    self._came(PLAIN, each.body)
                    await self._acknowledge(READERS, [each])
            if self.held is not None:
                return
        raise AssertionError("guest: a message to work on did not come")

    async def _work_done(self) -> None:
        """The handle that it got first is good, however long that was ago."""
        held, self.held = self.held, None
        if held is not None:
            await self._acknowledge(READERS, [held])
            self._came(PLAIN, held.body)

    # Talking

    async def _pass(self, seconds: float) -> None:
        while seconds > 0:
            await self._clock.advance(min(seconds, 10.0))
            await self.beat()
            seconds -= 10.0

    def _bytes(self, rpc: str, request: Any, *, end: bool = True) -> tuple[int, bytes]:
        """A call's number, and what is to be sent for it."""
        number = self.line.next_number()
        fields = {"x-mq-client-id": CLIENT, "x-mq-language": "PYTHON", "x-mq-client-version": "5.1.2"}
        if end:
            fields["grpc-timeout"] = "25S"
        data = framed(request.SerializeToString())
        return number, opened(number, head(SERVICE + rpc, fields)) + sent(number, data, end=end)

    def _open(self, rpc: str, request: Any, *, end: bool = True) -> int:
        number, data = self._bytes(rpc, request, end=end)
        self.line.send(data)
        return number

    async def _until(self, condition: Callable[[], bool]) -> None:
        """Let time pass until it holds."""
        assert self.line.wake is not None
        end = self._clock.monotonic() + _WAIT_SECONDS
        await self._loop.settle()
        while not condition():
            assert self._clock.monotonic() < end, "guest: it waits for an answer"
            assert not self.line.closed, "guest: the connection was closed"
            await self._clock.advance(0.5)

    async def _all(self, rpc: str, request: Any, kind: Any) -> list[Any]:
        number = self._open(rpc, request)
        call: Asked = self.line.asked[number]
        await self._until(lambda: call.over)
        del self.line.asked[number]
        assert call.fields.get("grpc-status") == "0", f"guest: {rpc}: {call.fields}"
        return [kind.FromString(each) for each in call.answers]

    async def _ask(self, rpc: str, request: Any) -> Any:
        [answer] = await self._all(rpc, request, m.METHODS[SERVICE + rpc][1])
        return answer
