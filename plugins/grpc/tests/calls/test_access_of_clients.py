"""Clients of several users, and what the door does for them by itself, under access control."""

from __future__ import annotations

from typing import Any

from doors import consumer_settings, producer_settings
from guarded_doors import GuardedScene, acknowledging, sending
from mqframe_grpc.options import GrpcOptions
from mqframe_grpc.proto import messages as m

ORDERS, BILLING = m.Resource(name="orders"), m.Resource(name="billing")
PUSH = m.ClientType.PUSH_CONSUMER
READING = consumer_settings("billing", "orders", kind=PUSH)
UNKNOWN = "Authentication failed. Please verify the credentials and try again."


def members(scene: GuardedScene, group: str = "billing") -> list[str]:
    found = scene.cluster.broker.service_port.clients.consumers.get(group)
    return [] if found is None else found.client_ids


async def refused_stream(scene: GuardedScene, user: str, settings: m.Settings) -> str:
    """What a stream that the door ends at once is told."""
    stream = await scene.join_as(user, settings)
    await scene.until(stream.task.done)
    [told] = stream.answers
    assert (told.status.code, told.WhichOneof("command")) == (m.Code.UNAUTHORIZED, None)
    return str(told.status.message)


# Streams


async def test_settings_need_what_they_name() -> None:
    async with GuardedScene(topics={"orders": 1}) as scene:
        await scene.grant("shop", "Topic:orders", actions="Pub")
        await scene.grant("reader", "Topic:orders", "Group:billing", actions="Sub")
        may_not = "has no permission to access"
        assert await refused_stream(scene, "", READING) == UNKNOWN
        for user, settings, what in (
            ("shop", producer_settings("orders", "others"), "Topic:others"),
            ("shop", READING, "Group:billing"),
            ("reader", producer_settings("orders"), "Topic:orders"),
            ("reader", consumer_settings("billing", "orders", "others"), "Topic:others"),
            ("reader", consumer_settings("other", "orders"), "Group:other"),
        ):
            told = await refused_stream(scene, user, settings)
            assert told.startswith(f"User:{user} {may_not} {what}")
        assert scene.refused() == (1, 5)
        assert (members(scene), len(scene.door.clients)) == ([], 0)
        producers = scene.cluster.broker.service_port.clients.producers
        assert producers == {}
        for user, settings in (("shop", producer_settings("orders")), ("reader", READING)):
            stream = await scene.join_as(user, settings, f"{user}@1")
            assert stream.answers[0].status.code == m.Code.OK
        assert (members(scene), list(producers)) == (["reader@1"], ["orders"])


async def test_a_stream_goes_on_when_its_signature_is_old_and_ends_with_its_user() -> None:
    async with GuardedScene(topics={"orders": 1}, options=GrpcOptions(signature_age_ms=60_000)) as scene:
        await scene.grant("reader", "*")
        stream = await scene.join_as("reader", READING)
        await scene.pass_time(100.0)
        stream.tell(m.TelemetryCommand(settings=READING))
        await scene.until(lambda: len(stream.answers) == 2)
        assert stream.answers[1].status.code == m.Code.OK
        await scene.disable("reader")
        stream.tell(m.TelemetryCommand(settings=READING))
        await scene.until(stream.task.done)
        assert (stream.answers[2].status.code, stream.answers[2].status.message) == (
            m.Code.UNAUTHORIZED,
            UNKNOWN,
        )


async def test_members_that_may_no_more_are_none() -> None:
    async with GuardedScene(topics={"orders": 1}) as scene:
        for user, settings in (("shop", producer_settings("orders")), ("reader", READING)):
            await scene.grant(user, "*")
            await scene.join_as(user, settings, f"{user}@1")
            await scene.delete(user)
            await scene.grant(user, "Topic:other")
        clients = scene.cluster.broker.service_port.clients
        assert (members(scene), list(clients.producers)) == (["reader@1"], ["orders"])
        for _ in range(13):
            await scene.pass_time(10.0)
            for user in ("shop", "reader"):
                code = await scene.code(user, "Heartbeat", m.HeartbeatRequest(), f"{user}@1")
                assert code == m.Code.UNAUTHORIZED
        assert (members(scene), list(clients.producers)) == ([], [])


# Ids


async def test_an_id_does_not_make_one_user_another() -> None:
    async with GuardedScene(topics={"orders": 1}) as scene:
        await scene.grant("reader", "Topic:orders", "Group:billing", actions="Sub")
        await scene.grant("other", "Topic:others", "Group:others", actions="Sub")
        mine = await scene.join_as("reader", READING, "a@1")
        await scene.send_as("admin", "orders", b"1")
        [found] = await scene.receive_as("reader", "orders", "billing", "a@1", auto_renew=True)
        # It has the id, and the handle.
        [answer] = await scene.ask("other", "AckMessage", acknowledging("billing", found), "a@1")
        assert [each.status.code for each in answer.entries] == [m.Code.UNAUTHORIZED]
        theirs = await scene.join_as("other", consumer_settings("others", "others"), "a@1")
        mine_client = scene.door.clients.known({"x-mq-client-id": "a@1"}, "reader")
        assert mine_client is not None
        mine_client.command(m.TelemetryCommand(reconnect_endpoints_command=m.ReconnectEndpointsCommand()))
        assert [len(each.commands) for each in (mine, theirs)] == [1, 0]
        # Its farewell is its own.
        farewell = m.NotifyClientTerminationRequest()
        assert await scene.code("other", "NotifyClientTermination", farewell, "a@1") == m.Code.OK
        assert members(scene) == ["a@1"]
        assert len(scene.door.renewing.renewals) == 1
        assert await scene.code("reader", "AckMessage", acknowledging("billing", found), "a@1") == m.Code.OK


async def test_a_client_that_moves_keeps_what_it_works_on() -> None:
    async with GuardedScene(topics={"orders": 1}) as scene:
        await scene.grant("reader", "*")
        await scene.join_as("reader", READING)
        await scene.send_as("admin", "orders", b"1")
        [found] = await scene.receive_as("reader", "orders", "billing", auto_renew=True)
        scene.address = "10.0.0.8:1"
        stream = await scene.join_as("reader", READING)
        assert stream.answers[0].status.code == m.Code.OK
        for _ in range(20):
            await scene.pass_time(10.0)
            assert await scene.code("reader", "Heartbeat", m.HeartbeatRequest()) == m.Code.OK
        assert (len(scene.door.clients), len(scene.door.renewing.renewals)) == (2, 1)
        assert await scene.code("reader", "AckMessage", acknowledging("billing", found)) == m.Code.OK
        assert len(scene.door.renewing.renewals) == 0


# What the door does by itself


async def working(scene: GuardedScene, minutes: int) -> Any:
    """A message in work at a@1 of `reader`, for so long."""
    await scene.grant("reader", "Topic:orders", "Group:billing", actions="Sub", source="10.0.0.0/8")
    await scene.join_as("reader", READING, "a@1")
    await scene.send_as("admin", "orders", b"1")
    [found] = await scene.receive_as("reader", "orders", "billing", "a@1", auto_renew=True)
    for _ in range(minutes * 6):
        await scene.pass_time(10.0)
        assert await scene.code("reader", "Heartbeat", m.HeartbeatRequest(), "a@1") == m.Code.OK
    return found


async def test_what_is_in_work_stays_hidden_and_its_first_handle_is_good() -> None:
    async with GuardedScene(topics={"orders": 1}) as scene:
        found = await working(scene, 4)
        assert await scene.receive_as("admin", "orders", "billing", "b@1") == []
        assert await scene.code("reader", "AckMessage", acknowledging("billing", found), "a@1") == m.Code.OK
        assert scene.refused() == (0, 0)
        await scene.pass_time(120.0)
        assert await scene.receive_as("admin", "orders", "billing", "b@1") == []


async def test_others_get_soon_what_a_client_had_that_says_farewell() -> None:
    async with GuardedScene(topics={"orders": 1}) as scene:
        await working(scene, 2)
        farewell = m.NotifyClientTerminationRequest(group=BILLING)
        assert await scene.code("reader", "NotifyClientTermination", farewell, "a@1") == m.Code.OK
        await scene.pass_time(2.0)
        [again] = await scene.receive_as("admin", "orders", "billing", "b@1", seconds=10.0)
        assert (again.body, again.system_properties.delivery_attempt) == (b"1", 2)


async def test_others_get_what_a_user_had_that_is_disabled() -> None:
    async with GuardedScene(topics={"orders": 1}) as scene:
        found = await working(scene, 1)
        await scene.disable("reader")
        acknowledged = await scene.ask("reader", "AckMessage", acknowledging("billing", found), "a@1")
        assert acknowledged[0].status.code == m.Code.UNAUTHORIZED
        await scene.pass_time(200.0)
        assert (members(scene), len(scene.door.renewing.renewals)) == ([], 0)
        [again] = await scene.receive_as("admin", "orders", "billing", "b@1", seconds=10.0)
        assert again.body == b"1"


async def test_the_door_makes_dead_letters_of_what_came_too_often() -> None:
    async with GuardedScene(topics={"orders": 1}) as scene:
        await scene.grant("reader", "Topic:orders", "Group:billing", actions="Sub")
        await scene.create_group("billing", retries=1)
        await scene.send_as("admin", "orders", b"1")
        for attempt in (1, 2):
            [found] = await scene.receive_as(
                "reader", "orders", "billing", seconds=20.0, invisible_seconds=10
            )
            assert found.system_properties.delivery_attempt == attempt
            await scene.pass_time(15.0)
        assert await scene.receive_as("reader", "orders", "billing", seconds=20.0) == []
        assert scene.bodies("%DLQ%billing") == [b"1"]
        assert scene.refused() == (0, 0)


async def test_a_consumer_makes_dead_letters_of_its_own_group_alone() -> None:
    async with GuardedScene(topics={"orders": 1}) as scene:
        await scene.grant("reader", "Topic:orders", "Group:billing", actions="Sub")
        await scene.send_as("admin", "orders", b"1")
        [found] = await scene.receive_as("reader", "orders", "billing")
        said = found.system_properties

        def buried(group: str) -> m.ForwardMessageToDeadLetterQueueRequest:
            return m.ForwardMessageToDeadLetterQueueRequest(
                topic=ORDERS,
                group=m.Resource(name=group),
                receipt_handle=said.receipt_handle,
                message_id=said.message_id,
            )

        bury = "ForwardMessageToDeadLetterQueue"
        assert await scene.code("reader", bury, buried("others")) == m.Code.UNAUTHORIZED
        assert scene.bodies("%DLQ%others") == []
        assert await scene.code("reader", bury, buried("billing")) == m.Code.OK
        assert scene.bodies("%DLQ%billing") == [b"1"]


async def test_a_transaction_from_before_a_restart_ends_by_its_owner_alone() -> None:
    async with GuardedScene(topics={"halves": 1}, types={"halves": "TRANSACTION"}) as scene:
        await scene.grant("shop", "Topic:halves", actions="Pub")
        await scene.grant("other", "Topic:other", actions="Pub")
        entry = await scene.send_as("shop", "halves", b"1", message_type=m.MessageType.TRANSACTION)
        await scene.restart_broker()

        def end(topic: str) -> m.EndTransactionRequest:
            return m.EndTransactionRequest(
                topic=m.Resource(name=topic),
                message_id=entry.message_id,
                transaction_id=entry.transaction_id,
                resolution=m.TransactionResolution.COMMIT,
            )

        assert await scene.code("other", "EndTransaction", end("halves")) == m.Code.UNAUTHORIZED
        # Nor does the name of another topic help.
        assert await scene.code("other", "EndTransaction", end("other")) == m.Code.INTERNAL_SERVER_ERROR
        assert scene.bodies("halves") == []
        assert await scene.code("shop", "EndTransaction", end("halves")) == m.Code.OK
        await scene.settle()
        assert scene.bodies("halves") == [b"1"]
        assert scene.refused() == (0, 1)


async def test_a_producer_is_asked_about_what_stays_open() -> None:
    async with GuardedScene(topics={"halves": 1}, types={"halves": "TRANSACTION"}) as scene:
        await scene.grant("shop", "Topic:halves", actions="Pub")
        stream = await scene.join_as("shop", producer_settings("halves"), "p@1")
        entry = await scene.send_as("shop", "halves", b"1", message_type=m.MessageType.TRANSACTION)
        for _ in range(8):
            await scene.pass_time(10.0)
            assert await scene.code("shop", "Heartbeat", m.HeartbeatRequest(), "p@1") == m.Code.OK
        asked = stream.commands[0].recover_orphaned_transaction_command
        assert (asked.transaction_id, asked.message.body) == (entry.transaction_id, b"1")


async def test_the_door_itself_may_do_what_nobody_asks_for_and_no_client_is_the_door() -> None:
    async with GuardedScene(topics={"orders": 1}) as scene:
        own = scene.door.clients.own()
        assert (own.inner, own.user) == (True, "")
        assert await scene.code("", "SendMessage", sending("orders"), own.client_id) == m.Code.UNAUTHORIZED
        await scene.grant("shop", "Topic:orders")
        assert await scene.code("shop", "SendMessage", sending("orders"), own.client_id) == m.Code.OK
        client = scene.door.clients.known({"x-mq-client-id": own.client_id}, "shop")
        assert client is not None
        assert (client.inner, client.user) == (False, "shop")
