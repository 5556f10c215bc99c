"""What the door has answered holds when power is lost: the machine of brokers, with clients of gRPC."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from doors import ADDRESS, CLIENT, MemoryCall, MemoryCarrier, message, receive_request
from mqframe_grpc.door import SERVICE, Door
from mqframe_grpc.inside import InsideBackend
from mqframe_grpc.options import GrpcOptions
from mqframe_grpc.proto import messages as m
from mqframe_grpc.transport.call import CallHead, GrpcCall
from mqframe_grpc.transport.messages import IncomingMessages
from trust.broker_crashes import broker_images
from trust.broker_life import POPPING, BrokerLife, Comes, Popping
from trust.series import try_all, wanted

CASES, CASES_OF_A_LONG_RUN = 20, 160
OPTIONS = GrpcOptions(check_types=False, polling_min_ms=0, polling_max_ms=1)
_MESSAGE_BYTES_MAX = 8 << 20


class DoorLife(BrokerLife):
    """A life whose messages come and go by the door, in the broker's process."""

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self._door: Door | None = None
        self._broker: Any = None
        self._open: list[tuple[str, bytes]] = []
        self._got: list[Any] = []

    async def _call(self, rpc: str, request: Any) -> list[Any]:
        """All answers. A door goes with its broker."""
        if self._door is None or self._broker is not self.cluster.broker:
            self._broker = self.cluster.broker
            port = self._broker.service_port
            self._door = Door(InsideBackend(port), self.cluster.clock, OPTIONS, port.requests.judge)
        path = SERVICE + rpc
        method = self._door.methods()[path]
        carrier = MemoryCarrier(m.METHODS[path][1], ADDRESS)
        head = CallHead(method, {":path": path, "x-mq-client-id": CLIENT}, None)
        call = GrpcCall(carrier, 1, head, IncomingMessages("identity", _MESSAGE_BYTES_MAX))
        return await MemoryCall(call, carrier, method.serve(call, request)).task

    async def _store(self, topic: str, **said: Any) -> tuple[bytes, Any]:
        self._number += 1
        body = b"%d " % self._number + b"." * self.chance.choice((10, 300, 2000))
        asked = m.SendMessageRequest(messages=[message(topic, body, **said)])
        [answer] = await self._call("SendMessage", asked)
        assert answer.status.code == m.Code.OK, answer
        return body, answer.entries[0]

    async def _comes(self, topic: str, **said: Any) -> None:
        body, _ = await self._store(topic, **said)
        self.note(Comes(topic, body))

    async def _send(self) -> None:
        await self._comes(self.chance.choice(self._topics))

    async def _send_timed(self) -> None:
        due_s = self.cluster.clock.now_ms() // 1000 + self.chance.randint(1, 20)
        await self._comes(self.chance.choice(self._topics), delivery_timestamp=m.Timestamp(seconds=due_s))

    async def _send_to_pop(self) -> None:
        await self._comes("pops")

    async def _send_half(self) -> None:
        body, entry = await self._store(self._topics[0], message_type=m.MessageType.TRANSACTION)
        self._open.append((entry.transaction_id, body))

    async def _end_half(self) -> None:
        if not self._open:
            return
        name, body = self._open.pop(self.chance.randrange(len(self._open)))
        resolutions = m.TransactionResolution
        end = m.EndTransactionRequest(
            topic=m.Resource(name=self._topics[0]),
            message_id=name,
            transaction_id=name,
            resolution=self.chance.choice((resolutions.COMMIT, resolutions.COMMIT, resolutions.ROLLBACK)),
        )
        [answer] = await self._call("EndTransaction", end)
        if answer.status.code == m.Code.OK and end.resolution == resolutions.COMMIT:
            self.note(Comes(self._topics[0], body))

    async def _pop(self) -> None:
        asked = receive_request("pops", POPPING, count=4, seconds=0.0, invisible_seconds=10)
        answers = await self._call("ReceiveMessage", asked)
        self._got += [each.message for each in answers[1:-1]]

    async def _ack(self) -> None:
        if not self._got:
            return
        found = self._got.pop(self.chance.randrange(len(self._got)))
        self.note(Popping(found.body))
        said = found.system_properties
        entry = m.AckMessageEntry(message_id=said.message_id, receipt_handle=said.receipt_handle)
        group = m.Resource(name=POPPING)
        await self._call("AckMessage", m.AckMessageRequest(group=group, topic=found.topic, entries=[entry]))


def test_nothing_that_the_door_has_promised_is_lost(place: Path) -> None:
    try_all(broker_images(place, 0, DoorLife), CASES, place)


@pytest.mark.long
@pytest.mark.timeout(0)
def test_nothing_is_lost_of_the_door_in_a_long_series(place: Path, pytestconfig: pytest.Config) -> None:
    seed, count = wanted(pytestconfig, CASES_OF_A_LONG_RUN)
    try_all(broker_images(place, seed, DoorLife), count, place)
