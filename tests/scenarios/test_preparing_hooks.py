"""Send hooks that set properties, over a real broker and every way to send; listeners inside of a hook."""

from __future__ import annotations

import asyncio
import contextvars
import threading
from contextlib import contextmanager

import pytest
from mqframe_testing.cluster import Cluster

from mqframe import (
    Admin,
    AnswerError,
    AsyncProducer,
    AsyncPushConsumer,
    AsyncTransactionProducer,
    BatchTransactionProducer,
    ConsumeHook,
    ConsumeResult,
    Forbidden,
    ForbiddenHook,
    IllegalProperty,
    Message,
    MessageError,
    MessageQueue,
    Producer,
    ProducerSettings,
    Puller,
    PushConsumer,
    RouteError,
    SendHook,
    TransactionOutcome,
    TransactionProducer,
    reply_to,
)
from mqframe.core.messages.batch import encode_element

WAIT = 60.0
TENANT: contextvars.ContextVar[str] = contextvars.ContextVar("tenant", default="none")


@pytest.fixture
def cluster():
    with Cluster() as running:
        running.create_topic("orders", 1)
        yield running


class Tenant(SendHook):
    """Marks each message with the tenant of who sends, and with its number in the send."""

    name = "tenant"

    def __init__(self) -> None:
        self.operations: list = []
        self.finished: list = []
        self.tries: list = []

    def prepare(self, operation):
        self.operations.append(operation)
        operation.extras["tries"] = 0
        operation.set_property("tenant", TENANT.get())
        for index in range(len(operation.messages)):
            operation.set_property("number", f"no {index}", index)

    def before(self, context):
        self.tries.append((context.mode, [dict(message.properties) for message in context.messages]))
        if "tries" in context.extras:
            context.extras["tries"] += 1

    def finish(self, operation):
        self.finished.append((operation, operation.result, operation.error))


def marks(cluster, topic: str = "orders") -> dict[bytes, tuple[str | None, str | None]]:
    """What hooks have set, by body of all that was stored in `topic`, in its order."""
    found = {}
    with Puller(nameserver=cluster.nameserver) as puller:
        for queue in puller.queues(topic):
            offset = puller.min_offset(queue)
            while offset < puller.max_offset(queue):
                got = puller.pull(queue, offset)
                offset = got.next_offset
                for message in got.messages:
                    found[message.body] = message.properties.get("tenant"), message.properties.get("number")
    return found


@contextmanager
def tenant(name: str):
    token = TENANT.set(name)
    try:
        yield
    finally:
        TENANT.reset(token)


def producing(cluster, *hooks, kind=Producer, arguments=(), **options):
    return kind("shop", *arguments, nameserver=cluster.nameserver, send_hooks=list(hooks), **options)


def check_once(hook: Tenant, results: list) -> None:
    """One operation for each send, finished once with its result, whose tries had its extras."""
    assert [operation for operation, _, _ in hook.finished] == hook.operations
    assert [(result, error) for _, result, error in hook.finished] == [(result, None) for result in results]
    assert [operation.extras["tries"] for operation in hook.operations] == [1] * len(results)


def test_awaited_sends(cluster) -> None:
    hook = Tenant()
    message = Message("orders", b"plain", tag="paid", keys=["o-1"], properties={"colour": "green"})
    with producing(cluster, hook) as producer, tenant("acme"):
        results = [
            producer.send(message),
            producer.send(Message("orders", b"keyed"), sharding_key="customer-7"),
            producer.send(Message("orders", b"level"), delay_level=1),
            producer.send(Message("orders", b"later"), delay=3600),
        ]
        client_id = producer.client_id
    assert message == Message("orders", b"plain", tag="paid", keys=["o-1"], properties={"colour": "green"})
    check_once(hook, results)
    with Admin(nameserver=cluster.nameserver) as admin:
        for result, body in zip(results[:2], (b"plain", b"keyed"), strict=True):
            found = admin.messages.by_id(result.offset_message_id)
            assert found.body == body
            assert (found.properties["tenant"], found.properties["number"]) == ("acme", "no 0")
        found = admin.messages.by_id(results[0].offset_message_id)
        assert (found.tag, found.keys, found.properties["colour"]) == ("paid", ["o-1"], "green")
        for result in results[2:]:
            assert admin.messages.by_id(result.offset_message_id).properties["tenant"] == "acme"
    first = hook.operations[0]
    assert (first.group, first.mode, first.client_id, first.batch) == ("shop", "sync", client_id, False)
    assert [operation.sharding_key for operation in hook.operations] == [None, "customer-7", None, None]
    # Both what was set and what is asked of the broker is there for hooks to see.
    assert hook.operations[2].messages[0].properties == {"DELAY": "1", "tenant": "acme", "number": "no 0"}
    assert hook.tries[2] == ("sync", [{"DELAY": "1", "tenant": "acme", "number": "no 0"}])


def test_batches_and_oneway(cluster) -> None:
    hook = Tenant()
    batch = [Message("orders", b"one"), Message("orders", b"two", properties={"colour": "red"})]
    with producing(cluster, hook) as producer, tenant("acme"):
        result = producer.send_batch(batch)
        producer.send_oneway(Message("orders", b"oneway"))
        producer.send(Message("orders", b"after"))
    assert marks(cluster) == {
        b"one": ("acme", "no 0"),
        b"two": ("acme", "no 1"),
        b"oneway": ("acme", "no 0"),
        b"after": ("acme", "no 0"),
    }
    assert batch == [Message("orders", b"one"), Message("orders", b"two", properties={"colour": "red"})]
    assert [operation.batch for operation in hook.operations] == [True, False, False]
    assert [operation.mode for operation in hook.operations] == ["sync", "oneway", "sync"]
    assert [(each, error) for _, each, error in hook.finished[:2]] == [(result, None), (None, None)]


def test_submitted_messages_keep_what_each_was_given(cluster) -> None:
    hook = Tenant()
    messages = [Message("orders", b"%d" % number) for number in range(6)]
    with producing(cluster, hook) as producer:
        futures = []
        for number, message in enumerate(messages):
            with tenant(f"t{number}"):
                futures.append(producer.submit(message))
        results = [future.result(WAIT) for future in futures]
    assert marks(cluster) == {b"%d" % number: (f"t{number}", "no 0") for number in range(6)}
    assert all(message.properties == {} for message in messages)
    check_once(hook, results)
    assert {operation.mode for operation in hook.operations} == {"async"}
    # They were packed, and each was shown by itself.
    assert len({result.offset_message_id for result in results}) == 6
    assert [seen[0]["tenant"] for _, seen in hook.tries] == [f"t{number}" for number in range(6)]


async def test_tasks_have_each_their_own_context(cluster) -> None:
    hook = Tenant()

    async def sends(producer, number: int):
        with tenant(f"t{number}"):
            awaited = await producer.send(Message("orders", b"send %d" % number))
            submitted = await (await producer.submit(Message("orders", b"submit %d" % number)))
            return awaited, submitted

    async with producing(cluster, hook, kind=AsyncProducer) as producer:
        await asyncio.gather(*[sends(producer, number) for number in range(4)])
    assert marks(cluster) == {
        b"%s %d" % (kind, number): (f"t{number}", "no 0")
        for kind in (b"send", b"submit")
        for number in range(4)
    }
    assert [error for _, _, error in hook.finished] == [None] * 8


@pytest.mark.parametrize("kind", [TransactionProducer, AsyncTransactionProducer])
async def test_half_messages(cluster, kind) -> None:
    hook = Tenant()

    inside: list = []
    with tenant("acme"):
        if kind is AsyncTransactionProducer:
            async with (
                producing(cluster, hook, kind=kind) as producer,
                producer.transaction(Message("orders", b"half")) as transaction,
            ):
                inside.append(transaction.message.properties)
        else:
            with (
                producing(cluster, hook, kind=kind) as producer,
                producer.transaction(Message("orders", b"half")) as transaction,
            ):
                inside.append(transaction.message.properties)
    wait_for(lambda: marks(cluster) == {b"half": ("acme", "no 0")})
    assert inside == [{"tenant": "acme", "number": "no 0"}]
    [operation] = hook.operations
    assert operation.messages[0].properties["TRAN_MSG"] == "true"
    assert hook.finished[0][2] is None
    assert operation.extras == {"tries": 1}


def test_half_batches(cluster) -> None:
    hook, asked = Tenant(), []
    elements = encode_element(b"one", b"UNIQ_KEY\x01A1\x02") + encode_element(b"two", b"UNIQ_KEY\x01A2\x02")

    def check(half):
        asked.append(half)
        return TransactionOutcome.COMMIT

    with producing(cluster, hook, kind=BatchTransactionProducer, check=check) as producer, tenant("acme"):
        halves = producer.prepare("orders", elements, 2, properties={"job": "7"})
        producer.end(halves, TransactionOutcome.COMMIT)
    # The messages were encoded before: what is set belongs to the half, which a check sees.
    assert marks(cluster) == {b"one": (None, None), b"two": (None, None)}
    [operation] = hook.operations
    assert operation.messages[0].properties["job"] == "7"
    [(mode, [properties])] = hook.tries
    assert (mode, properties["tenant"], properties["job"]) == ("sync", "acme", "7")
    assert hook.finished[0][1].offset_message_id
    assert operation.extras == {"tries": 1}


def test_requests_and_replies(cluster) -> None:
    asking, answering = Tenant(), Tenant()
    consumer = PushConsumer("answers", nameserver=cluster.nameserver, consume_from="first")
    with producing(cluster, answering) as answerer, producing(cluster, asking) as asker:

        def answer(messages, context):
            with tenant("there"):
                answerer.send(reply_to(messages[0], b"answer"))
            return ConsumeResult.SUCCESS

        consumer.subscribe("orders", "*", answer)
        with consumer, tenant("here"):
            reply = asker.request(Message("orders", b"question"), timeout=WAIT)
    assert reply.body == b"answer"
    assert reply.properties["tenant"] == "there"
    assert marks(cluster) == {b"question": ("here", "no 0")}
    assert "CORRELATION_ID" in asking.operations[0].messages[0].properties
    assert [error for _, _, error in asking.finished + answering.finished] == [None, None]


def test_encoded_messages_are_shown_and_not_prepared(cluster) -> None:
    hook = Tenant()
    elements = encode_element(b"one", b"UNIQ_KEY\x01A1\x02") + encode_element(b"two", b"UNIQ_KEY\x01A2\x02")
    with producing(cluster, hook) as producer:
        producer.send_encoded("orders", elements)
    assert hook.operations == hook.finished == []
    assert hook.tries == [("sync", [{}, {}])]
    assert marks(cluster) == {b"one": (None, None), b"two": (None, None)}


# What goes wrong


class Bad(SendHook):
    """Sets what it is told to."""

    name = "bad"

    def __init__(self, name: str, value: str) -> None:
        self.pair = name, value
        self.finished: list = []

    def prepare(self, operation):
        operation.set_property(*self.pair)

    def finish(self, operation):
        self.finished.append(operation.error)


WAYS = {
    "send": lambda producer: producer.send(Message("orders", b"x")),
    "delayed": lambda producer: producer.send(Message("orders", b"x"), delay_level=1),
    "batch": lambda producer: producer.send_batch([Message("orders", b"x"), Message("orders", b"y")]),
    "oneway": lambda producer: producer.send_oneway(Message("orders", b"x")),
    "submit": lambda producer: producer.submit(Message("orders", b"x")).result(WAIT),
    "request": lambda producer: producer.request(Message("orders", b"x"), timeout=5.0),
    "transaction": lambda producer: producer.transaction(Message("orders", b"x")).__enter__(),
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(
    ("name", "value", "what"),
    [
        ("KEYS", "k", "property KEYS belongs to the system"),
        ("TAGS", "t", "property TAGS belongs to the system"),
        ("UNIQ_KEY", "u", "property UNIQ_KEY belongs to the system"),
        ("a\x01b", "v", "holds a character 1 or 2"),
        ("tenant", "a\x02b", "holds a character 1 or 2"),
        ("tenant", "", "neither name nor value may be empty"),
        ("tenant", 7, "value of property tenant is int, not text"),
        ("tenant", "x" * 33_000, "33[0-9]{3} bytes, 32767 are allowed"),
    ],
)
def test_illegal_properties_stop_the_send_and_name_the_hook(cluster, way, name, value, what) -> None:
    hook, first = Bad(name, value), Tenant()
    with (
        producing(cluster, first, hook, kind=TransactionProducer) as producer,
        pytest.raises(IllegalProperty, match=f"^send hook bad: .*{what}") as told,
    ):
        WAYS[way](producer)
    assert isinstance(told.value, MessageError)
    assert not told.value.maybe_stored
    assert hook.finished == [told.value]
    assert [error for _, _, error in first.finished] == [told.value]
    assert first.tries == []
    assert marks(cluster) == {}


def test_a_batch_that_hooks_make_too_large_is_refused(cluster) -> None:
    settings = ProducerSettings(body_bytes_max=1000)
    hook = Bad("padding", "x" * 400)
    with producing(cluster, hook, settings=settings) as producer:
        with pytest.raises(MessageError, match=r"2 messages make a batch of 1\d{3} bytes, 1000 may be"):
            producer.send_batch([Message("orders", b"x" * 100), Message("orders", b"y" * 100)])
        producer.send_batch([Message("orders", b"x" * 100)])
    assert list(marks(cluster)) == [b"x" * 100]
    assert [type(error) for error in hook.finished] == [MessageError, type(None)]


def test_submitted_messages_fill_batches_with_what_hooks_set(cluster) -> None:
    settings = ProducerSettings(batch_bytes_max=4096, linger_seconds=0.2)
    hook, watch = Bad("padding", "x" * 1000), Sizes()
    with producing(cluster, hook, watch, settings=settings) as producer:
        for future in [producer.submit(Message("orders", b"%d" % number)) for number in range(8)]:
            future.result(WAIT)
    # About four messages of a thousand bytes go into a request.
    assert 4 <= len(watch.born) <= 8
    assert list(marks(cluster)) == [b"%d" % number for number in range(8)]


class Sizes(SendHook):
    """Notes the requests in which messages left."""

    def __init__(self) -> None:
        self.born: set = set()
        self.requests = 0

    def before(self, context):
        self.born.add(context.message_ids[0])


def test_a_failing_hook_sets_nothing_and_stops_nobody(cluster, caplog) -> None:
    class Failing(SendHook):
        name = "failing"

        def prepare(self, operation):
            operation.set_property("half", "done")
            raise ValueError("oops")

        def finish(self, operation):
            raise ValueError("oops again")

    first, last = Tenant(), Bad("colour", "green")
    with producing(cluster, first, Failing(), last) as producer:
        result = producer.send(Message("orders", b"x"))
    with Admin(nameserver=cluster.nameserver) as admin:
        properties = admin.messages.by_id(result.offset_message_id).properties
    assert (properties["tenant"], properties["colour"]) == ("none", "green")
    assert "half" not in properties
    assert last.finished == [None]
    assert [error for _, _, error in first.finished] == [None]
    assert caplog.text.count("plugin='failing'") == 2


def test_a_later_hook_sees_and_replaces_what_was_set_before(cluster) -> None:
    seen = []

    class Later(SendHook):
        def prepare(self, operation):
            seen.append(dict(operation.messages[0].properties))
            operation.set_property("colour", "blue")

    message = Message("orders", b"x", properties={"colour": "red"})
    with producing(cluster, Bad("colour", "green"), Later()) as producer:
        result = producer.send(message)
    assert seen == [{"colour": "green"}]
    assert message.properties == {"colour": "red"}
    with Admin(nameserver=cluster.nameserver) as admin:
        assert admin.messages.by_id(result.offset_message_id).properties["colour"] == "blue"


@pytest.mark.parametrize("way", ["send", "submit", "oneway"])
def test_sends_that_never_leave_are_finished_with_their_error(cluster, way) -> None:
    hook = Tenant()
    nowhere = MessageQueue("orders", "nowhere", 0)
    with producing(cluster, hook) as producer:
        calls = {
            "send": lambda: producer.send(Message("orders", b"x"), queue=nowhere),
            "submit": lambda: producer.submit(Message("orders", b"x"), queue=nowhere).result(WAIT),
            "oneway": lambda: producer.send_oneway(Message("orders", b"x"), queue=nowhere),
        }
        with pytest.raises(RouteError) as told:
            calls[way]()
    assert [(result, error) for _, result, error in hook.finished] == [(None, told.value)]
    assert hook.tries == []


def test_a_forbidden_message_among_submitted_ones(cluster) -> None:
    class NoSecrets(ForbiddenHook):
        def check(self, context):
            assert context.message.properties["tenant"] == "none"
            if context.message.body == b"secret":
                raise Forbidden("no secrets")

    hook = Tenant()
    with producing(cluster, hook, forbidden_hooks=[NoSecrets()]) as producer:
        good, bad = producer.submit(Message("orders", b"x")), producer.submit(Message("orders", b"secret"))
        result = good.result(WAIT)
        refusal = bad.exception(WAIT)
    outcomes = {op.messages[0].body: (result, error) for op, result, error in hook.finished}
    assert outcomes == {b"x": (result, None), b"secret": (None, refusal)}
    assert isinstance(refusal, Forbidden)


def test_what_a_broker_refuses_is_finished_with_its_answer(cluster) -> None:
    hook = Tenant()
    with producing(cluster, hook) as producer, pytest.raises(AnswerError) as told:
        producer.send(Message("orders", b"x"), queue=MessageQueue("orders", "broker-a", 99))
    assert [(result, error) for _, result, error in hook.finished] == [(None, told.value)]
    assert len(hook.operations) == 1


# Listeners inside of a hook


class InTenant(ConsumeHook):
    """Lets listeners run as the tenant that the message says."""

    def __init__(self) -> None:
        self.left: list = []

    @contextmanager
    def around(self, context):
        token = TENANT.set(context.messages[0].properties["tenant"])
        try:
            yield
        finally:
            TENANT.reset(token)
            self.left.append((context.outcome, context.success, context.ordered, context.broadcasting))


def wait_for(condition) -> None:
    deadline = threading.Event()
    for _ in range(600):
        if condition():
            return
        deadline.wait(0.1)
    raise AssertionError("not reached")


@pytest.mark.parametrize("ordered", [False, True])
@pytest.mark.parametrize("broadcasting", [False, True])
def test_plain_listeners_run_inside_of_it(cluster, ordered, broadcasting) -> None:
    hook, seen = InTenant(), []
    with producing(cluster, Tenant()) as producer:
        for number in range(4):
            with tenant(f"t{number}"):
                producer.send(Message("orders", b"t%d" % number))
    consumer = PushConsumer(
        "billing",
        nameserver=cluster.nameserver,
        consume_from="first",
        ordered=ordered,
        broadcasting=broadcasting,
        offset_store="remote",
        consume_hooks=[hook],
    )

    def take(messages, context):
        seen.append((messages[0].body.decode(), TENANT.get()))
        return ConsumeResult.SUCCESS

    consumer.subscribe("orders", "*", take, batch_max=1)
    with consumer:
        wait_for(lambda: len(hook.left) == 4)
    assert sorted(seen) == [(f"t{number}", f"t{number}") for number in range(4)]
    assert hook.left == [("success", True, ordered, broadcasting)] * 4
    assert TENANT.get() == "none"


@pytest.mark.parametrize("ordered", [False, True])
async def test_async_listeners_beside_each_other_run_each_inside_of_its_own(cluster, ordered) -> None:
    hook, seen = InTenant(), []
    with producing(cluster, Tenant()) as producer:
        for number in range(4):
            with tenant(f"t{number}"):
                producer.send(Message("orders", b"t%d" % number))

    together, done = asyncio.Event(), asyncio.Event()
    waiting = []

    async def take(messages, context):
        waiting.append(messages)
        if ordered or len(waiting) == 4:
            together.set()
        await asyncio.wait_for(together.wait(), WAIT)
        await asyncio.sleep(0)
        seen.append((messages[0].body.decode(), TENANT.get()))
        if len(seen) == 4:
            done.set()
        return ConsumeResult.SUCCESS

    consumer = AsyncPushConsumer(
        "billing",
        nameserver=cluster.nameserver,
        consume_from="first",
        ordered=ordered,
        consume_hooks=[hook],
    )
    consumer.subscribe("orders", "*", take, batch_max=1)
    async with consumer:
        await asyncio.wait_for(done.wait(), WAIT)
    assert sorted(seen) == [(f"t{number}", f"t{number}") for number in range(4)]
    assert [left[:2] for left in hook.left] == [("success", True)] * 4
