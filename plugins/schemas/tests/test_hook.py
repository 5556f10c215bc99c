"""The send hook: messages that do not fit are not sent, and those that do say their version."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from mqframe_schemas.hook import BodyRefused, SchemaCheck
from mqframe_schemas.rules.history import NAMESPACE, SchemaHead, SchemaVersion, text_of, versions_of
from mqframe_testing.conformance import SendHookConformance
from mqframe_testing.conformance.hooks import ConformancePort

from mqframe import AsyncProducer, Message, Producer, SendHook
from mqframe.core.errors import ConnectError, FixError, SettingError
from mqframe.core.sending.encoding import encode_elements
from mqframe.hooks.interfaces import SendOperation
from mqframe.hooks.manager import PluginManager

NUMBERS = SchemaVersion(1, "json", '{"type":"integer"}')
TEXTS = SchemaVersion(2, "json", '{"type":"string"}')


class KeepingPort(ConformancePort):
    """Name servers that keep `tables` by namespace; `away`: none of them answers. `asked`: namespaces."""

    def __init__(self, tables: Mapping[str, Sequence[dict[str, str]]]) -> None:
        super().__init__()
        self.tables = dict(tables)
        self.away = False
        self.asked: list[str] = []

    async def values(self, namespace: str) -> list[dict[str, str]]:
        self.asked.append(namespace)
        if self.away:
            raise ConnectError("no name server answered")
        return list(self.tables.get(namespace, [{}]))

    def keep(self, topic: str, head: SchemaHead, *versions: SchemaVersion) -> None:
        """Have the one name server keep the schema of `topic`."""
        heads = self.tables.setdefault(NAMESPACE, [{}])
        heads[0][topic] = text_of(head)
        self.tables[versions_of(topic)] = [{str(each.number): text_of(each) for each in versions}]


def kept(topic: str = "orders") -> KeepingPort:
    port = KeepingPort({})
    port.keep(topic, SchemaHead(1), NUMBERS)
    return port


def prepared(hook: SchemaCheck, *messages: Message) -> dict[int, dict[str, str]]:
    operation = SendOperation("shop", messages, "sync", batch=len(messages) > 1)
    hook.prepare(operation)
    return operation.take_properties()


class TestSchemaCheck(SendHookConformance):
    def make(self) -> SendHook:
        hook = SchemaCheck()
        asyncio.run(hook.attach(ConformancePort()))
        return hook


async def test_a_message_that_fits_says_its_version() -> None:
    hook = SchemaCheck()
    await hook.attach(kept())
    assert prepared(hook, Message("orders", b"7")) == {0: {"schemaVersion": "1"}}
    assert prepared(hook, Message("others", b"x")) == {}


async def test_of_a_transaction_each_message_is_looked_at() -> None:
    hook = SchemaCheck()
    await hook.attach(kept())
    good, bad = Message("orders", b"7"), Message("orders", b'"seven"')
    half = Message("orders", b"7", properties={"TRAN_MSG": "true"})
    assert prepared(hook, half) == {0: {"schemaVersion": "1"}}
    packed = encode_elements([good, good], ["1", "2"])
    assert prepared(hook, Message("orders", packed, properties={"TRAN_MSG": "true"})) == {}
    packed = encode_elements([good, bad], ["1", "2"])
    with pytest.raises(BodyRefused, match="must be of type integer"):
        prepared(hook, Message("orders", packed, properties={"TRAN_MSG": "true"}))


async def test_a_message_that_does_not_fit_is_refused_with_what_and_where() -> None:
    hook = SchemaCheck()
    await hook.attach(kept())
    with pytest.raises(BodyRefused) as told:
        prepared(hook, Message("orders", b"7"), Message("orders", b'"secret"'))
    problem = told.value
    assert str(problem) == (
        "a message to orders does not fit its schema at $: must be of type integer (version 1)"
    )
    assert (problem.topic, problem.path) == ("orders", "$")
    assert isinstance(problem, FixError)


async def test_schemas_that_change_are_read_again_and_no_others() -> None:
    hook, port = SchemaCheck(), kept()
    port.keep("others", SchemaHead(1), NUMBERS)
    await hook.attach(port)
    port.asked.clear()
    port.keep("orders", SchemaHead(2, change=2), NUMBERS, TEXTS)
    (look,) = port.actions
    look()
    look()  # one look at a time
    await asyncio.gather(*(asyncio.all_tasks() - {asyncio.current_task()}))
    assert port.asked == [NAMESPACE, versions_of("orders")]
    assert prepared(hook, Message("orders", b'"seven"')) == {0: {"schemaVersion": "2"}}
    old = Message("orders", b"7", properties={"schemaVersion": "1"})
    assert prepared(hook, old) == {0: {"schemaVersion": "1"}}
    port.keep("orders", SchemaHead(0, change=3), NUMBERS, TEXTS)
    look()
    await asyncio.gather(*(asyncio.all_tasks() - {asyncio.current_task()}))
    assert prepared(hook, Message("orders", b"{")) == {}
    hook.detach()


async def test_nothing_is_sent_while_nobody_has_told_the_schemas() -> None:
    hook, port = SchemaCheck(), kept()
    with pytest.raises(BodyRefused, match="not known yet: the producer has not started"):
        prepared(hook, Message("others", b"x"))
    port.away = True
    await hook.attach(port)
    with pytest.raises(BodyRefused, match="not known yet: no name server answered"):
        prepared(hook, Message("others", b"x"))
    port.away = False
    port.actions[0]()
    await asyncio.gather(*(asyncio.all_tasks() - {asyncio.current_task()}))
    assert prepared(hook, Message("others", b"x")) == {}
    port.away = True
    port.actions[0]()
    await asyncio.gather(*(asyncio.all_tasks() - {asyncio.current_task()}))
    assert prepared(hook, Message("orders", b"7")) == {0: {"schemaVersion": "1"}}  # by what it knew


async def test_a_schema_that_cannot_be_used_lets_nothing_through() -> None:
    hook, port = SchemaCheck(), KeepingPort({})
    port.keep("orders", SchemaHead(2), NUMBERS)
    await hook.attach(port)
    with pytest.raises(BodyRefused, match=r"nobody can tell here: .*have lost version 2 of its schema"):
        prepared(hook, Message("orders", b"7"))
    port.keep("orders", SchemaHead(2), NUMBERS, TEXTS)  # the head is the same, and is looked at again
    port.actions[0]()
    await asyncio.gather(*(asyncio.all_tasks() - {asyncio.current_task()}))
    assert prepared(hook, Message("orders", b'"seven"')) == {0: {"schemaVersion": "2"}}


async def test_what_a_validator_fails_at_is_not_sent() -> None:
    hook, port = SchemaCheck(), KeepingPort({})
    port.keep("orders", SchemaHead(1), SchemaVersion(1, "json", '{"pattern":"(secret"}'))
    await hook.attach(port)
    with pytest.raises(BodyRefused, match="looking at it failed with ") as told:
        prepared(hook, Message("orders", b'"secret"'))
    assert "secret" not in str(told.value)


async def test_an_entry_that_nobody_can_read_stops_its_own_topic_alone() -> None:
    hook, port = SchemaCheck(), kept()
    port.tables[NAMESPACE][0]["others"] = "{"
    await hook.attach(port)
    assert prepared(hook, Message("orders", b"7")) == {0: {"schemaVersion": "1"}}
    with pytest.raises(
        BodyRefused, match="nobody can tell here: what a name server keeps as a schema of topic"
    ):
        prepared(hook, Message("others", b"7"))


async def test_only_the_topics_that_are_named_are_looked_at() -> None:
    hook = PluginManager().create("send_hook", ("schemas", {"topics": ["orders"], "refresh_seconds": 5}))
    port = kept("others")
    port.keep("orders", SchemaHead(1), NUMBERS)
    await hook.attach(port)
    assert port.asked == [NAMESPACE, versions_of("orders")]
    assert prepared(hook, Message("others", b"{")) == {}
    with pytest.raises(SettingError, match="refresh_seconds"):
        PluginManager().create("send_hook", ("schemas", {"refresh_seconds": 0}))


def test_producers_of_all_kinds_refuse_what_does_not_fit(cluster: Any, admin: Any) -> None:
    cluster.create_topic("typed", 1)
    admin.kv.put(versions_of("typed"), "1", text_of(NUMBERS))
    admin.kv.put(NAMESPACE, "typed", text_of(SchemaHead(1)))
    good, bad = Message("typed", b"7"), Message("typed", b'"seven"')
    with Producer("shop", nameserver=cluster.nameserver, send_hooks=["schemas"]) as producer:
        sent = [producer.send(good), producer.submit(good).result(), producer.send_batch([good, good])]
        for send in (
            producer.send,
            producer.send_oneway,
            producer.submit,
            lambda each: producer.send_batch([each]),
        ):
            with pytest.raises(BodyRefused, match=r"^send hook schemas: a message to typed does not fit"):
                send(bad)
    assert [each.queue_offset for each in sent] == [0, 1, 2]
    stored = admin.messages.by_id(sent[0].offset_message_id)
    assert (stored.body, stored.properties["schemaVersion"]) == (b"7", "1")


async def test_asynchronous_producers_start_with_the_schemas(cluster: Any, admin: Any) -> None:
    cluster.create_topic("typed-async", 1)
    admin.kv.put(versions_of("typed-async"), "1", text_of(NUMBERS))
    admin.kv.put(NAMESPACE, "typed-async", text_of(SchemaHead(1)))
    async with AsyncProducer("shop", nameserver=cluster.nameserver, send_hooks=["schemas"]) as producer:
        with pytest.raises(BodyRefused, match="does not fit"):
            await producer.send(Message("typed-async", b'"seven"'))
        sent = await producer.send(Message("typed-async", b"7"))
    assert sent.queue_offset == 0
    assert admin.messages.by_id(sent.offset_message_id).properties["schemaVersion"] == "1"
