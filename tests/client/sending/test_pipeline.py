"""The send template over a scripted remoting: what is tried where, how often, when, and what hooks see."""

import asyncio
import random
import zlib

import pytest
from client.sending.scripted_transport import ScriptedTransport, answer
from mqframe_testing.manual_clock import ManualClock

from mqframe.client.sending.batches import Encoder
from mqframe.client.sending.blocking_transport import run_blocking
from mqframe.client.sending.pipeline import PipelineOptions, SendPipeline
from mqframe.client.settings import ProducerSettings
from mqframe.core.errors import (
    AnswerError,
    BadAnswer,
    CallTimeout,
    ConnectError,
    ConnectionLost,
    FixError,
    MqframeError,
    RouteError,
    TooMuchInFlight,
)
from mqframe.core.messages.compression import Compression
from mqframe.core.messages.ids import UniqueIds
from mqframe.core.messages.message import Message, MessageQueue, SendStatus
from mqframe.core.messages.properties import decode_properties
from mqframe.core.sending.queue_choice import FaultLatency
from mqframe.core.sending.retries import BOUND, ONCE, awaited_rules, submitted_rules
from mqframe.core.wire.frame import Frame
from mqframe.hooks.interfaces import Forbidden, ForbiddenHook, QueueSelector, SendHook


def sender_over(port, **options):
    clock = port.clock
    encoder = Encoder(
        "group",
        UniqueIds(clock, b"\x7f\0\0\1", 7, 9, lambda now: 0),
        ProducerSettings(body_bytes_max=10_000, compress_over_bytes=4096),
        Compression.ZLIB,
    )
    return SendPipeline(port, clock, random.Random(4), encoder, PipelineOptions(**options))


@pytest.fixture
def clock():
    return ManualClock()


def deliver(port, rules=None, message=None, seconds=3.0, mode="sync", fixed=None, **options):
    sender = sender_over(port, **options)
    batch = sender.encoder.one(message or Message("t", b"x"))
    return run_blocking(
        sender.deliver(
            batch,
            rules or awaited_rules(2),
            port.route,
            port.clock.monotonic() + seconds,
            fixed=fixed,
            mode=mode,
        )
    )


def test_the_request(clock):
    port = ScriptedTransport(clock, brokers="a")
    result = deliver(port, message=Message("t", b"body", tag="T", keys=["k"], properties={"p": "q"}, flag=3))
    ((address, request, body, timeout),) = port.asked
    assert (address, body, timeout) == ("a:10911", b"body", 3.0)
    assert (request.CODE, request.producer_group, request.topic, request.queue_id) == (310, "group", "t", 0)
    assert (request.default_topic, request.default_topic_queue_nums) == ("TBW102", 4)
    assert (request.flag, request.sys_flag, request.batch, request.broker_name) == (3, 0, False, "a")
    assert request.born_timestamp == clock.now_ms()
    assert decode_properties(request.properties) == {
        "UNIQ_KEY": result.message_id,
        "WAIT": "true",
        "TAGS": "T",
        "KEYS": "k",
        "p": "q",
    }
    assert (result.queue, result.queue_offset) == (MessageQueue("t", "a", 0), 5)
    assert result.offset_message_id == "OFF"


def test_large_bodies_are_compressed_with_zlib(clock):
    port = ScriptedTransport(clock)
    body = b"abc" * 2000
    deliver(port, message=Message("t", body))
    _, request, sent, _ = port.asked[0]
    assert request.sys_flag == 0x301
    assert sent[:2] == b"\x78\x5e"
    assert zlib.decompress(sent) == body
    deliver(port, message=Message("t", b"x" * 4095))
    assert port.asked[1][1].sys_flag == 0


@pytest.mark.parametrize("code", [1, 16, 17, 204, 205, 1500])
def test_these_answers_are_tried_again_at_another_broker_at_once(clock, code):
    port = ScriptedTransport(clock, answer(code), answer(code))
    assert deliver(port).status is SendStatus.SEND_OK
    assert len(port.asked) == 3
    assert port.brokers[0] != port.brokers[1] != port.brokers[2]
    assert port.slept == []


@pytest.mark.parametrize(
    ("problem", "is_old"),
    [
        (answer(14), True),
        (ConnectError("refused"), True),
        (ConnectionLost("gone"), True),
        (answer(1), False),
        (CallTimeout("late"), False),
    ],
)
def test_a_broker_that_is_away_or_master_no_more_has_the_route_asked_for(clock, problem, is_old):
    port = ScriptedTransport(clock, *[problem] * 3)
    with pytest.raises(MqframeError):
        deliver(port, ONCE)
    assert [topic for topic, _ in port.doubted] == (["t"] if is_old else [])


def test_a_route_is_doubted_once_a_second_at_most_and_the_next_try_goes_by_the_new_one(clock):
    port = ScriptedTransport(clock, *[answer(14)] * 3, brokers="a", seconds=0.4)
    old, port.route = port.route, ScriptedTransport(clock, brokers="b").route
    sender = sender_over(port)
    batch = sender.encoder.one(Message("t", b"x"))
    run_blocking(sender.deliver(batch, awaited_rules(3), old, clock.monotonic() + 9))
    assert [address for address, *_ in port.asked] == ["a:10911", "b:10911", "b:10911", "b:10911"]
    doubted = [at for _, at in port.doubted]
    assert len(doubted) == 2
    assert doubted[1] - doubted[0] >= 1.0


def test_a_route_in_which_nobody_takes_messages_for_now_is_not_gone_by(clock):
    port = ScriptedTransport(clock, ConnectError("dead"), ConnectError("dead"), brokers="a")
    old, port.route = port.route, ScriptedTransport(clock, brokers="").route
    assert port.route.write_queues() == ()
    sender = sender_over(port)
    sent = run_blocking(
        sender.deliver(sender.encoder.one(Message("t", b"x")), awaited_rules(2), old, clock.monotonic() + 9)
    )
    assert sent.status is SendStatus.SEND_OK
    assert [address for address, *_ in port.asked] == ["a:10911"] * 3


def test_a_retry_keeps_the_unique_key(clock):
    port = ScriptedTransport(clock, answer(1))
    result = deliver(port)
    keys = {decode_properties(request.properties)["UNIQ_KEY"] for _, request, *_ in port.asked}
    assert keys == {result.message_id}


@pytest.mark.parametrize("code", [3, 13, 15, 26, 29])
def test_other_answers_are_final(clock, code):
    port = ScriptedTransport(clock, answer(code, "no"))
    with pytest.raises(AnswerError, match="no") as caught:
        deliver(port)
    assert caught.value.code == code
    assert len(port.asked) == 1


@pytest.mark.parametrize(
    "problem", [answer(2), answer(14), answer(215), ConnectError("x"), TooMuchInFlight("x")]
)
@pytest.mark.parametrize("fixed", [None, MessageQueue("t", "b", 0)])
def test_what_passes_is_waited_for_within_the_time_of_the_send(clock, problem, fixed):
    port = ScriptedTransport(clock, *[problem] * 12, brokers="ab")
    rules = BOUND if fixed else awaited_rules(2)
    assert deliver(port, rules, fixed=fixed, seconds=30.0).status is SendStatus.SEND_OK
    pauses = 12 if fixed else 6  # the other broker is tried at once
    assert port.slept == [pytest.approx(min(0.1 * 1.6**n, 2.0), rel=0.2) for n in range(pauses)]
    assert set(port.brokers) == ({"b"} if fixed else {"a", "b"})


def test_what_does_not_pass_within_the_time_is_told_with_how_often_it_was_met(clock):
    port = ScriptedTransport(clock, *[answer(2, "too busy")] * 50, brokers="a")
    began = clock.monotonic()
    with pytest.raises(AnswerError, match="too busy") as caught:
        deliver(port, submitted_rules(2), mode="async")
    assert 2.9 < clock.monotonic() - began <= 3.0
    assert caught.value.__notes__ == [f"tried {len(port.asked)} times, brokers a"]
    assert len(port.asked) > 6


@pytest.mark.parametrize("problem", [ConnectionLost, CallTimeout])
def test_failures_on_the_way_are_tried_again(clock, problem):
    port = ScriptedTransport(clock, problem("x"), problem("x"))
    assert deliver(port, try_timeout_seconds=1.0).status is SendStatus.SEND_OK
    assert len(port.asked) == 3
    assert port.slept == []


def test_tries_that_stored_nothing_do_not_use_up_those_that_may_have(clock):
    away, lost = ConnectError("x"), ConnectionLost("x")
    port = ScriptedTransport(clock, lost, away, away, lost, away)
    assert deliver(port).status is SendStatus.SEND_OK
    assert len(port.asked) == 6


def test_a_stored_message_is_not_kept_waiting_for_a_better_answer(clock):
    port = ScriptedTransport(clock, answer(10), answer(2), brokers="a")
    sent = deliver(port, awaited_rules(2, not_store_ok=True))
    assert (sent.status, port.slept, len(port.asked)) == (SendStatus.FLUSH_DISK_TIMEOUT, [], 2)


def test_the_last_error_comes_out_and_says_what_is_uncertain(clock):
    port = ScriptedTransport(clock, *[ConnectionLost("gone")] * 3)
    with pytest.raises(ConnectionLost, match=r"gone; the message may or may not be stored; tried 3 times"):
        deliver(port)


def test_a_time_out_uses_up_the_time_so_nothing_follows(clock):
    port = ScriptedTransport(clock, CallTimeout("late"))
    with pytest.raises(CallTimeout, match="may or may not be stored"):
        deliver(port)
    assert len(port.asked) == 1


def test_a_limit_for_each_try_leaves_time_for_others(clock):
    port = ScriptedTransport(clock, CallTimeout("late"), CallTimeout("late"))
    assert deliver(port, try_timeout_seconds=1.0).status is SendStatus.SEND_OK
    assert [timeout for *_, timeout in port.asked] == [1.0, 1.0, 1.0]


def test_the_total_time_is_bounded(clock):
    port = ScriptedTransport(clock, *[answer(1)] * 9, seconds=1.2)
    with pytest.raises(AnswerError):
        deliver(port, awaited_rules(8))
    assert [round(timeout, 1) for *_, timeout in port.asked] == [3.0, 1.8, 0.6]


def test_sends_bound_to_a_queue_are_not_repeated_once_they_may_be_stored(clock):
    for outcome in (answer(1), CallTimeout("x"), ConnectionLost("x"), answer(16)):
        port = ScriptedTransport(clock, outcome)
        with pytest.raises(MqframeError):
            deliver(port, BOUND, fixed=MessageQueue("t", "b", 0))
        assert port.brokers == ["b"]


def test_submitted_messages_are_not_repeated_after_another_answer(clock):
    port = ScriptedTransport(clock, answer(1))
    with pytest.raises(AnswerError):
        deliver(port, submitted_rules(2), mode="async")
    assert len(port.asked) == 1


@pytest.mark.parametrize(("code", "status"), [(10, "FLUSH_DISK_TIMEOUT"), (11, "SLAVE_NOT_AVAILABLE")])
def test_stored_but_late_is_a_result(clock, code, status):
    port = ScriptedTransport(clock, answer(code))
    assert deliver(port).status is SendStatus[status]
    assert len(port.asked) == 1


def test_stored_but_late_may_be_tried_at_another_broker(clock):
    rules = awaited_rules(2, not_store_ok=True)
    port = ScriptedTransport(clock, answer(10))
    assert deliver(port, rules).status is SendStatus.SEND_OK
    assert port.brokers[0] != port.brokers[1]
    port = ScriptedTransport(clock, answer(10), answer(13))
    assert deliver(port, rules).status is SendStatus.FLUSH_DISK_TIMEOUT


def test_a_broker_without_address_is_looked_up_again(clock):
    port = ScriptedTransport(clock, brokers="a")
    with pytest.raises(RouteError, match="broker gone of topic t has no master"):
        deliver(port, BOUND, fixed=MessageQueue("t", "gone", 0))
    assert port.routes_asked == len(port.slept) + 1 > 5


def test_the_vip_port(clock):
    port = ScriptedTransport(clock, brokers="a")
    deliver(port, vip=True)
    assert port.asked[0][0] == "a:10909"


def test_latency_faults_are_noted(clock):
    faults = FaultLatency(clock)
    port = ScriptedTransport(clock, answer(1), seconds=0.6)
    deliver(port, faults=faults)
    failed, slow = port.brokers
    assert not faults.reachable(failed)
    assert faults.reachable(slow)
    assert not faults.available(failed)
    assert not faults.available(slow)
    clock.advance(2.0)
    assert faults.available(slow)


class Watch(SendHook):
    def __init__(self, name, seen, fail=False):
        self.name = name
        self.seen = seen
        self.fail = fail

    def before(self, context):
        self.seen.append((self.name, "before"))
        context.extras[self.name] = len(self.seen)
        if self.fail:
            raise ValueError("faulty hook")

    def after(self, context):
        outcome = context.result.status.name if context.result else type(context.error).__name__
        self.seen.append((self.name, outcome))
        assert self.name in context.extras


def test_hooks_run_in_order_and_back_for_each_try_and_are_isolated(clock):
    seen = []
    port = ScriptedTransport(clock, answer(1))
    deliver(port, hooks=(Watch("one", seen, fail=True), Watch("two", seen)))
    assert seen == [
        ("one", "before"),
        ("two", "before"),
        ("two", "AnswerRetry"),
        ("one", "AnswerRetry"),
        ("one", "before"),
        ("two", "before"),
        ("two", "SEND_OK"),
        ("one", "SEND_OK"),
    ]


class Guard(ForbiddenHook):
    def __init__(self, problem):
        self.problem = problem

    def check(self, context):
        assert (context.group, context.mode, context.broker_address[1:]) == ("group", "sync", ":10911")
        raise self.problem


def test_a_forbidden_hook_stops_the_send_for_good(clock):
    port = ScriptedTransport(clock)
    with pytest.raises(Forbidden, match="not today"):
        deliver(port, forbidden=(Guard(Forbidden("not today")),))
    assert port.asked == []


def test_other_errors_of_a_forbidden_hook_do_not_stop_it(clock):
    port = ScriptedTransport(clock)
    deliver(port, forbidden=(Guard(KeyError("bug")),))
    assert len(port.asked) == 1


def test_oneway_waits_for_a_connection_and_hooks_see_each_try(clock):
    seen = []
    port = ScriptedTransport(clock, ConnectError("x"))
    sender = sender_over(port, hooks=(Watch("h", seen),))
    batch = sender.encoder.one(Message("t", b"x"))
    run_blocking(sender.oneway(batch, port.route, MessageQueue("t", "a", 0), clock.monotonic() + 1))
    assert seen == [("h", "before"), ("h", "ConnectError"), ("h", "before"), ("h", "NoneType")]
    assert (len(port.asked), port.slept) == (2, [pytest.approx(0.1, rel=0.2)])


def test_oneway_is_not_repeated_once_it_may_have_left(clock):
    port = ScriptedTransport(clock, ConnectionLost("gone"))
    sender = sender_over(port)
    batch = sender.encoder.one(Message("t", b"x"))
    with pytest.raises(ConnectionLost):
        run_blocking(sender.oneway(batch, port.route, MessageQueue("t", "a", 0), clock.monotonic() + 1))
    assert len(port.asked) == 1


@pytest.mark.parametrize("away", [RouteError("no name server answered"), "no queues"])
def test_a_route_is_waited_for(clock, away):
    port = ScriptedTransport(clock)
    routes = [away] * 3 if isinstance(away, RouteError) else [ScriptedTransport(clock, brokers="").route] * 3
    found = [*routes, port.route]

    async def find_route(topic, seconds):
        outcome = found.pop(0)
        if isinstance(outcome, RouteError):
            raise outcome
        return outcome

    sender = sender_over(port)
    route, port.route = port.route, None
    port.find_route = find_route
    assert run_blocking(sender.route("t", 3.0)) is route
    assert port.slept == [pytest.approx(0.1 * 1.6**n, rel=0.2) for n in range(3)]


class Fixed(QueueSelector):
    def __init__(self, outcome):
        self.outcome = outcome

    def select(self, queues, message, key):
        if isinstance(self.outcome, Exception):
            raise self.outcome
        return self.outcome


def test_what_a_selector_may_give(clock):
    route = ScriptedTransport(clock).route
    message = Message("t", b"x")
    queue = MessageQueue("t", "a", 0)
    assert SendPipeline.select(route, message, Fixed(queue), 1) == queue
    with pytest.raises(FixError, match="no queue of the route"):
        SendPipeline.select(route, message, Fixed(MessageQueue("t", "z", 0)), 1)
    with pytest.raises(FixError, match="selector Fixed failed"):
        SendPipeline.select(route, message, Fixed(KeyError("bug")), 1)


async def test_a_cancelled_send_says_that_it_may_be_stored(clock):
    port = ScriptedTransport(clock)

    started = asyncio.Event()

    async def hang(address, request, body=b"", *, timeout):
        started.set()
        await asyncio.Event().wait()

    port.invoke = hang
    sender = sender_over(port)
    batch = sender.encoder.one(Message("t", b"x"))
    task = asyncio.ensure_future(sender.deliver(batch, awaited_rules(2), port.route, 3.0))
    await started.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError) as caught:
        await task
    assert any("may or may not be stored" in note for note in caught.value.__notes__)


@pytest.mark.parametrize("left", [ConnectionLost("gone"), CallTimeout("late")])
@pytest.mark.parametrize(
    "last",
    [
        ConnectError("no connection to b: refused; nothing was sent"),
        TooMuchInFlight("b does not read; nothing was sent"),
        RouteError("broker b of topic t has no master; nothing was sent"),
        answer(13, "too large"),
        answer(16, "no permission"),
    ],
)
def test_a_refused_retry_does_not_hide_that_the_first_try_had_left(clock, left, last):
    port = ScriptedTransport(clock, left, *[last] * 50)
    with pytest.raises(type(left)) as caught:
        deliver(port, try_timeout_seconds=1.0)
    assert caught.value.maybe_stored
    assert str(caught.value).startswith(f"{left}; the message may or may not be stored; tried ")
    assert "nothing was sent" not in str(caught.value)
    assert isinstance(caught.value.__cause__, MqframeError)
    assert not caught.value.__cause__.maybe_stored


def test_a_send_whose_tries_never_left_is_not_stored_for_certain(clock):
    port = ScriptedTransport(clock, *[ConnectError("no connection; nothing was sent")] * 50)
    with pytest.raises(ConnectError, match="nothing was sent") as caught:
        deliver(port)
    assert not caught.value.maybe_stored


def test_a_connection_that_was_closed_before_the_send_leaves_no_doubt(clock):
    gone = ConnectionLost("connection to a is closed: idle; nothing was sent")
    gone.maybe_stored = False
    port = ScriptedTransport(clock, ConnectError("no connection; nothing was sent"), *[gone] * 50)
    with pytest.raises(ConnectionLost, match="nothing was sent") as caught:
        deliver(port)
    assert not caught.value.maybe_stored


def test_no_time_for_a_first_try_leaves_no_doubt(clock):
    port = ScriptedTransport(clock)
    with pytest.raises(CallTimeout, match="no time left") as caught:
        deliver(port, seconds=0.0)
    assert port.asked == []
    assert not caught.value.maybe_stored


def test_a_send_that_was_answered_with_nonsense_may_be_stored(clock):
    port = ScriptedTransport(clock, Frame(0, ext={"msgId": "x"}))
    with pytest.raises(BadAnswer, match=r"queueId.*may or may not be stored") as caught:
        deliver(port)
    assert caught.value.maybe_stored
    assert len(port.asked) == 1


@pytest.mark.parametrize("oneway", [False, True])
def test_what_is_to_be_delivered_at_a_time_is_not_sent_to_a_broker_without_timers(clock, oneway):
    port = ScriptedTransport(clock)
    port.version = 407
    sender = sender_over(port)
    batch = sender.encoder.one(Message("t", b"x"))
    batch.timed = True
    queue = MessageQueue("t", "a", 0)
    sending = (
        sender.oneway(batch, port.route, queue, 3.0)
        if oneway
        else sender.deliver(batch, awaited_rules(2), port.route, clock.monotonic() + 3.0, first=queue)
    )
    said = r"deliver_at .* need Apache RocketMQ 5\.0\.0 or later, and a:10911 is 4\.9\.7; nothing was"
    with pytest.raises(FixError, match=said):
        run_blocking(sending)
    assert port.asked == []


def test_a_message_has_not_left_while_its_broker_is_asked_for_its_version(clock):
    class Silent(ScriptedTransport):
        async def broker_version(self, address, seconds):
            raise CallTimeout("no answer")

    sender = sender_over(port := Silent(clock))
    batch = sender.encoder.one(Message("t", b"x"))
    batch.timed = True
    with pytest.raises(CallTimeout) as problem:
        run_blocking(sender.deliver(batch, BOUND, port.route, clock.monotonic() + 3.0))
    assert (problem.value.maybe_stored, port.asked) == (False, [])
