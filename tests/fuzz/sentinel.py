"""A normal client beside the strangers: what it is promised has to hold after everything."""

from __future__ import annotations

from fuzz.facts import Facts
from mqframe_admin.requests import UpdateAndCreateSubscriptionGroup
from mqframe_pop.requests import PopMessage
from mqframe_testing.simulation import SimulatedClock
from popping import Popped, popped

from mqframe.core.cluster.client_bodies import ConsumerData, HeartbeatData, ProducerData
from mqframe.core.cluster.route_bodies import TopicRouteData
from mqframe.core.cluster.topic_bodies import RegisterBrokerBody, TopicConfig, TopicConfigTable
from mqframe.core.consuming.group_config import SubscriptionGroupConfig
from mqframe.core.filtering.bodies import SubscriptionData
from mqframe.core.requests import Request, admin, consumers, messages, nameserver
from mqframe.core.requests.serving import Call, serves
from mqframe.core.storage.record import decode_records
from mqframe.core.wire.bodies import DataVersion
from mqframe.core.wire.frame import Frame
from mqframe.core.wire.loose_json import decode, dumps
from mqframe.net.client import Client

BROKER, NAMESERVER = "127.0.0.1:10911", "127.0.0.1:9876"
TOPIC, LATER, POPPED, GROUP, PRODUCERS = "guard", "guard-later", "guard-pop", "guards", "guard-producers"
_INVISIBLE_MS = 15_000
LATER_SECONDS = 40.0
"""After so long everything that was to come later has come: the check of a half takes longest."""


class Sentinel:
    """Sends and reads its own messages over connections of its own.

    `facts` is told nothing: a stranger knows nothing of these messages.
    """

    def __init__(self, clock: SimulatedClock, facts: Facts) -> None:
        self._clock = clock
        self._client = Client(clock)
        self._client.serve(self)
        self._sent: list[bytes] = []
        self._checked: list[int] = []
        self._popped: set[bytes] = set()
        self._later_next = 0
        self._retry_next = 0
        self._number = 0

    async def start(self) -> None:
        for topic in (TOPIC, LATER, POPPED):
            made = admin.UpdateAndCreateTopic(topic=topic, read_queue_nums=1, write_queue_nums=1, perm=6)
            await self._ok(made)
        await self._ok(UpdateAndCreateSubscriptionGroup(), dumps(SubscriptionGroupConfig(GROUP)))
        await self._beat()

    async def stop(self) -> None:
        await self._client.close()

    async def _beat(self) -> None:
        subscriptions = [SubscriptionData(topic) for topic in (TOPIC, LATER, POPPED, f"%RETRY%{GROUP}")]
        beat = HeartbeatData(
            "guard@1",
            [ConsumerData(GROUP, subscription_data_set=subscriptions)],
            producer_data_set=[ProducerData(PRODUCERS)],
        )
        await self._ok(consumers.HeartBeat(), dumps(beat))

    @serves(messages.CheckTransactionState)
    def asked(self, fields: messages.CheckTransactionState, call: Call) -> None:
        self._checked.append(fields.commit_log_offset)

    # Now

    async def check(self) -> None:
        """Two messages are taken, get the next offsets, and are read as they were sent; routes are right."""
        await self._beat()
        start = len(self._sent)
        for _ in range(2):
            body = self._body()
            answer = await self._send(TOPIC, body)
            offset = int((answer.ext or {})["queueOffset"])
            assert offset == len(self._sent), f"sentinel: offset {offset}, expected {len(self._sent)}"
            self._sent.append(body)
        found = await self._pull(TOPIC, start)
        assert found == self._sent[start:], f"sentinel: read {found} instead of {self._sent[start:]}"
        await self._check_routes()

    async def check_all(self) -> None:
        """All that was ever sent is there."""
        found: list[bytes] = []
        while part := await self._pull(TOPIC, len(found)):
            found += part
        assert found == self._sent, f"sentinel: {len(found)} of {len(self._sent)} messages are as they were"

    async def _check_routes(self) -> None:
        table = TopicConfigTable(
            DataVersion(1, 0, 1), None, {name: TopicConfig(topic_name=name) for name in (TOPIC, LATER)}
        )
        await self._ok(
            nameserver.RegisterBroker("guard-broker", "127.0.0.1:1911", "GuardCluster", "127.0.0.1:1912", 0),
            dumps(RegisterBrokerBody(topic_config_serialize_wrapper=table)),
            NAMESERVER,
        )
        answer = await self._ok(nameserver.GetRouteinfoByTopic(TOPIC, True), b"", NAMESERVER)
        route = decode(answer.body, TopicRouteData)
        brokers = {data.broker_name: dict(data.broker_addrs) for data in route.broker_datas}
        assert brokers.get("guard-broker") == {0: "127.0.0.1:1911"}, f"sentinel: route {brokers}"
        await self._ok(nameserver.PutKvConfig("guard", "k", str(self._number)), b"", NAMESERVER)
        answer = await self._ok(nameserver.GetKvConfig("guard", "k"), b"", NAMESERVER)
        assert (answer.ext or {})["value"] == str(self._number)

    # Later

    async def check_later(self) -> None:
        """All ways in which a message comes later still work: levels, times, transactions, retries, POP."""
        await self._beat()
        expected = set()
        for properties in ("DELAY\x012\x02", f"TIMER_DELIVER_MS\x01{self._clock.now_ms() + 4000}\x02"):
            body = self._body()
            expected.add(body)
            await self._send(LATER, body, properties)
        for ends in (True, False):
            body = self._body()
            expected.add(body)
            half = await self._half(body)
            if ends:
                await self._end(half)
            else:
                self._checked.clear()
        back, again = self._body(), self._body()
        stored = await self._send(TOPIC, back)
        self._sent.append(back)
        offset = int((stored.ext or {})["msgId"][16:], 16)
        await self._ok(messages.ConsumerSendMsgBack(offset, GROUP, 1, max_reconsume_times=16))
        self._popped.add(again)
        await self._send(POPPED, again)
        first = await self._pop(again)
        await self._clock.advance(LATER_SECONDS / 2)
        await self._beat()
        assert self._checked, "sentinel: nobody asked how a transaction ended"
        await self._end(self._checked[-1])
        await self._clock.advance(LATER_SECONDS / 2)
        found = set(await self._pull(LATER, self._later_next))
        self._later_next += len(found)
        assert found == expected, f"sentinel: later came {found} instead of {expected}"
        found_back = await self._pull(f"%RETRY%{GROUP}", self._retry_next)
        self._retry_next += len(found_back)
        assert found_back == [back], f"sentinel: retried {found_back} instead of {back!r}"
        second = await self._pop(again)
        assert second.handle.pop_time > first.handle.pop_time
        await self._ok(second.ack())

    async def _half(self, body: bytes) -> int:
        answer = await self._send(LATER, body, f"TRAN_MSG\x01true\x02PGROUP\x01{PRODUCERS}\x02", PRODUCERS, 4)
        return int((answer.ext or {})["msgId"][16:], 16)

    async def _end(self, offset: int) -> None:
        view = await self._ok(messages.ViewMessageById(offset))
        half = next(decode_records(view.body))
        end = messages.EndTransaction(
            PRODUCERS, half.queue_offset, offset, 8, half.properties.get("UNIQ_KEY", "")
        )
        await self._ok(end)

    async def _pop(self, wanted: bytes) -> Popped:
        """Pop until `wanted` comes, which stays out; all else is acknowledged again, as after a kill."""
        for _ in range(20):
            request = PopMessage(
                consumer_group=GROUP, topic=POPPED, queue_id=-1, max_msg_nums=8, invisible_time=_INVISIBLE_MS,
                poll_time=0, born_time=self._clock.now_ms(), init_mode=0,
            )  # fmt: skip
            answer = await self._client.invoke(BROKER, request)
            assert answer.code in (0, 209, 210), f"sentinel: pop was answered {answer.code} {answer.remark}"
            found = popped(answer, POPPED, GROUP)
            strange = [each.body for each in found if each.body not in self._popped]
            assert not strange, f"sentinel: popped {strange}"
            for each in found:
                if each.body != wanted:
                    await self._ok(each.ack())
            mine = [each for each in found if each.body == wanted]
            if mine:
                return mine[0]
        raise AssertionError(f"sentinel: popped message {wanted!r} did not come")

    # Talking

    def _body(self) -> bytes:
        self._number += 1
        return b"guard %d" % self._number

    async def _send(
        self, topic: str, body: bytes, properties: str = "", group: str = PRODUCERS, sys_flag: int = 0
    ) -> Frame:
        unique = f"UNIQ_KEY\x01{self._number:032X}\x02"
        now = self._clock.now_ms()
        request = messages.SendMessageV2(group, topic, "TBW102", 4, 0, sys_flag, now, 0, unique + properties)
        return await self._ok(request, body)

    async def _pull(self, topic: str, offset: int) -> list[bytes]:
        request = messages.PullMessage(GROUP, topic, 0, offset, 32, 4, 0, 0, 0, "*", "TAG")
        answer = await self._client.invoke(BROKER, request)
        if answer.code != 0:
            assert answer.code in (19, 20, 21), f"sentinel: pull was answered {answer.code} {answer.remark}"
            return []
        return [message.body for message in decode_records(answer.body)]

    async def _ok(self, request: Request, body: bytes = b"", address: str = BROKER) -> Frame:
        answer = await self._client.invoke(address, request, body)
        assert answer.code == 0, f"sentinel: {request} was answered {answer.code} {answer.remark}"
        return answer
