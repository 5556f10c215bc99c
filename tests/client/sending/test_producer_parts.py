"""What producers are made of: wrong names show at once, and a message is bound to a queue by one rule."""

from __future__ import annotations

import random

import pytest
from client.sending.scripted_transport import ScriptedTransport
from mqframe_testing.manual_clock import ManualClock

from mqframe.client.sending.producer_parts import ProducerParts, ProducerStrategies
from mqframe.client.settings import ClientSettings, ProducerSettings
from mqframe.core.errors import FixError, MessageError, PluginError
from mqframe.core.messages.json_codec import JsonCodec
from mqframe.core.messages.message import Message, MessageQueue
from mqframe.core.sending.retries import BOUND
from mqframe.hooks.interfaces import ForbiddenHook, QueueSelector, RpcHook, SendHook

MESSAGE = Message("t", b"x")
FIRST, SECOND = MessageQueue("t", "a", 0), MessageQueue("t", "b", 0)


class ByNumber(QueueSelector):
    made = 0

    def __init__(self):
        type(self).made += 1

    def select(self, queues, message, key):
        return queues[key]


class Sends(SendHook):
    name = "sends"


class Forbids(ForbiddenHook):
    name = "forbids"

    def check(self, context):
        raise AssertionError("nothing is sent")


class Calls(RpcHook):
    name = "calls"


@pytest.fixture
def route():
    return ScriptedTransport(ManualClock()).route


def bound(route, parts=None, queue=None, selector=None, key=None):
    return (parts or ProducerParts("g")).fixed_queue(route, MESSAGE, queue, selector, key)


def test_what_is_wrong_shows_at_once():
    with pytest.raises(MessageError, match="group"):
        ProducerParts("a b")
    for wrong in ("selector", "send_hooks", "forbidden_hooks", "rpc_hooks"):
        name = "none-such" if wrong == "selector" else ["none-such"]
        with pytest.raises(PluginError, match="none-such"):
            ProducerParts("g", strategies=ProducerStrategies(**{wrong: name}))


def test_hooks_are_made_once_each_for_its_kind():
    hooks = [Sends(), Forbids(), Calls()]
    kinds = ("send_hooks", "forbidden_hooks", "rpc_hooks")
    parts = ProducerParts(
        "g", strategies=ProducerStrategies(**{kind: [hook] for kind, hook in zip(kinds, hooks, strict=True)})
    )
    assert [getattr(parts, kind) for kind in kinds] == [(hook,) for hook in hooks]


class Twice(JsonCodec):
    made = 0

    def __init__(self):
        type(self).made += 1

    def encode(self, value):
        return 2 * super().encode(value)


def test_messages_are_made_by_the_codec_of_the_producer_or_of_the_call():
    def body(parts, codec=None):
        return parts.message("t", 7, codec, None, (), {}).body

    assert body(ProducerParts("g")) == b"7"
    parts = ProducerParts("g", strategies=ProducerStrategies(codec=Twice))
    assert (body(parts), body(parts, "json"), body(parts, JsonCodec())) == (b"77", b"7", b"7")
    assert body(parts) == b"77"
    assert Twice.made == 1
    with pytest.raises(PluginError, match="there is no codec 'none-such'"):
        ProducerParts("g", strategies=ProducerStrategies(codec="none-such"))
    with pytest.raises(PluginError, match="there is no codec 'none-such'"):
        body(parts, "none-such")


def test_a_message_goes_anywhere_unless_it_is_bound(route):
    parts = ProducerParts("g", ProducerSettings(retries_sync=5))
    assert bound(route, parts) is None
    assert bound(route, parts, queue=SECOND) is SECOND
    assert (parts.rules(None), parts.rules(SECOND)) == (parts.awaited, BOUND)
    assert parts.awaited.retries == 5


def test_a_queue_is_given_alone_and_is_of_the_message_s_topic(route):
    for more in ({"selector": "hash"}, {"key": "k"}):
        with pytest.raises(MessageError, match="a queue is given already"):
            bound(route, queue=FIRST, **more)
    with pytest.raises(MessageError, match="is not of topic t"):
        bound(route, queue=MessageQueue("u", "a", 0))


def test_a_selector_may_be_an_object_a_class_or_a_name(route):
    own = ByNumber()
    made = ByNumber.made
    assert [bound(route, selector=own, key=key) for key in (0, 1)] == [FIRST, SECOND]
    assert ByNumber.made == made
    assert bound(route, selector=ByNumber, key=1) == SECOND
    parts = ProducerParts("g")
    assert {bound(route, parts, selector="hash", key="k") for _ in range(5)} == {
        bound(route, parts, key="k")  # which is what a key alone means
    }
    with pytest.raises(PluginError, match="none-such"):
        bound(route, parts, selector="none-such", key=1)
    with pytest.raises(FixError):
        bound(route, selector=own, key="no number")


def test_a_key_alone_goes_by_the_producer_s_own_selector(route):
    parts = ProducerParts("g", strategies=ProducerStrategies(selector=ByNumber()))
    assert [bound(route, parts, key=key) for key in (1, 0)] == [SECOND, FIRST]


def test_limits_of_awaited_and_of_submitted_messages_are_apart():
    settings = ProducerSettings(
        in_flight_messages_max=2, in_flight_bytes_max=100, waiting_messages_max=1, waiting_bytes_max=1000
    )
    parts = ProducerParts("g", settings)
    awaited, waiting = parts.in_flight_count(), parts.waiting_count()
    assert [awaited.acquire(50), awaited.acquire(50), awaited.acquire(1)] == [True, True, False]
    assert [waiting.acquire(900), waiting.acquire(1)] == [True, False]
    assert parts.in_flight_count().acquire(100), "each count is one of its own"


def test_a_pipeline_has_the_group_hooks_and_packing_of_its_producer():
    clock = ManualClock()
    hook = Forbids()
    parts = ProducerParts(
        "shop",
        ProducerSettings(compress_over_bytes=10),
        ProducerStrategies(forbidden_hooks=[hook]),
    )
    pipeline = parts.pipeline(ScriptedTransport(clock), clock, random.Random(1), "10.1.2.3", ClientSettings())
    assert (pipeline.group, pipeline.forbidden, pipeline.hooked) == ("shop", (hook,), True)
    batch = pipeline.encoder.one(Message("t", b"y" * 100))
    assert len(batch.body) < 100
    assert batch.message_id.startswith("0A010203"), "unique ids begin with the client's address"
