from __future__ import annotations

import pytest
from doors import DoorScene, message, producer_settings
from mqframe_grpc.proto import messages as m

TOPICS = {"halves": 1}
TYPES = {"halves": "TRANSACTION"}
COMMIT, ROLLBACK = m.TransactionResolution.COMMIT, m.TransactionResolution.ROLLBACK


def half(body: bytes) -> m.Message:
    return message("halves", body, message_type=m.MessageType.TRANSACTION)


async def end(
    scene: DoorScene, entry: m.SendResultEntry, how: int, client: str = "p@1"
) -> m.EndTransactionResponse:
    asked = m.EndTransactionRequest(
        topic=m.Resource(name="halves"),
        message_id=entry.message_id,
        transaction_id=entry.transaction_id,
        resolution=how,
    )
    [answer] = await scene.call("EndTransaction", asked, client)
    assert isinstance(answer, m.METHODS["/apache.rocketmq.v2.MessagingService/EndTransaction"][1])
    return answer


async def test_what_is_committed_is_delivered_and_nothing_else() -> None:
    async with DoorScene(topics=TOPICS, types=TYPES) as scene:
        yes, no, open_one = [await scene.send_one(half(body), "p@1") for body in (b"yes", b"no", b"open")]
        assert await scene.receive("halves", "readers") == []
        assert (await end(scene, yes, COMMIT)).status.code == m.Code.OK
        assert (await end(scene, no, ROLLBACK)).status.code == m.Code.OK
        assert (await end(scene, open_one, 0)).status.code == m.Code.OK
        found = await scene.receive("halves", "readers")
        assert [(each.body, each.system_properties.message_id) for each in found] == [
            (b"yes", yes.message_id)
        ]
        assert found[0].system_properties.message_type == m.MessageType.TRANSACTION


async def test_a_transaction_ends_once() -> None:
    async with DoorScene(topics=TOPICS, types=TYPES) as scene:
        entry = await scene.send_one(half(b"1"), "p@1")
        await end(scene, entry, COMMIT)
        answer = await end(scene, entry, ROLLBACK)
        assert answer.status.code == m.Code.INVALID_TRANSACTION_ID
        assert len(await scene.receive("halves", "readers")) == 1


@pytest.mark.parametrize("name", [" ", "never began"])
async def test_transactions_that_are_none(name: str) -> None:
    async with DoorScene(topics=TOPICS, types=TYPES) as scene:
        entry = m.SendResultEntry(message_id="x", transaction_id=name)
        assert (await end(scene, entry, COMMIT)).status.code == m.Code.INVALID_TRANSACTION_ID


async def test_a_transaction_from_before_a_restart_is_found_by_its_id() -> None:
    async with DoorScene(topics=TOPICS, types=TYPES) as scene:
        entry = await scene.send_one(half(b"1"), "p@1")
        await scene.restart_broker()
        assert (await end(scene, entry, COMMIT)).status.code == m.Code.OK
        assert [each.body for each in await scene.receive("halves", "readers")] == [b"1"]


async def test_a_producer_is_asked_about_what_stays_open() -> None:
    async with DoorScene(topics=TOPICS, types=TYPES) as scene:
        stream = await scene.join("p@1", producer_settings("halves"))
        entry = await scene.send_one(half(b"1"), "p@1")
        await scene.restart_broker()
        stream = await scene.join("p@1", producer_settings("halves"))
        for _ in range(6):
            await scene.pass_time(10.0)
            await scene.call("Heartbeat", m.HeartbeatRequest(client_type=m.ClientType.PRODUCER), "p@1")
        asked = stream.commands[0].recover_orphaned_transaction_command
        assert asked.transaction_id == entry.transaction_id
        assert (asked.message.topic.name, asked.message.body) == ("halves", b"1")
        assert asked.message.system_properties.message_id == entry.message_id
        answer = await end(scene, entry, COMMIT)
        assert answer.status.code == m.Code.OK
        assert [each.body for each in await scene.receive("halves", "readers")] == [b"1"]
