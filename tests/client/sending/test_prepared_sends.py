"""What hooks do once a send, whatever becomes of its tries."""

from __future__ import annotations

import pytest
from client.sending.scripted_transport import ScriptedTransport, answer
from client.sending.test_pipeline import sender_over
from mqframe_testing.manual_clock import ManualClock

from mqframe.client.sending.blocking_transport import run_blocking
from mqframe.client.sending.prepared_sends import (
    PreparingHooks,
    UnpreparedSend,
    begin,
    preparing_hooks,
)
from mqframe.core.errors import ConnectionLost
from mqframe.core.messages.message import Message, MessageQueue, SendResult, SendStatus
from mqframe.core.sending.request_reply import ReplyMessage
from mqframe.core.sending.retries import awaited_rules
from mqframe.hooks.interfaces import IllegalProperty, SendHook

RESULT = SendResult(SendStatus.SEND_OK, "ID", MessageQueue("t", "b", 0), 1)


class Numbering(SendHook):
    """Sets how many sends there were, and notes all that it is called for."""

    def __init__(self, name: str = "number") -> None:
        self.property = name
        self.calls: list = []

    def prepare(self, operation):
        count = sum(call[0] == "prepare" for call in self.calls)
        self.calls.append(("prepare", dict(operation.messages[0].properties)))
        operation.extras["sent by"] = self
        operation.set_property(self.property, str(count))

    def before(self, context):
        self.calls.append(("before", context.extras["sent by"] is self))

    def after(self, context):
        self.calls.append(("after", type(context.error)))

    def finish(self, operation):
        self.calls.append(("finish", operation.result, operation.error))


class Watching(SendHook):
    def before(self, context):
        raise AssertionError("not asked")


def test_hooks_that_only_watch_are_spared_it() -> None:
    class Ending(SendHook):
        def finish(self, operation): ...

    numbering, ending = Numbering(), Ending()
    assert preparing_hooks([Watching(), numbering, Watching(), ending]) == (numbering, ending)
    assert preparing_hooks([Watching()]) == ()
    assert sender_over(ScriptedTransport(ManualClock()), hooks=(Watching(),)).preparing is None
    assert sender_over(ScriptedTransport(ManualClock())).preparing is None


def test_tries_of_one_send_are_prepared_once_and_carry_the_same() -> None:
    hook, port = Numbering(), ScriptedTransport(ManualClock(), ConnectionLost("gone"), answer())
    sender = sender_over(port, hooks=(hook,))
    message = Message("t", b"x", properties={"colour": "red"})
    assert sender.preparing is not None
    with sender.preparing.begin((message,), "sync") as prepared:
        batch = prepared.carried_by(sender.encoder.one(prepared.messages[0]))
        deadline = port.clock.monotonic() + 3
        result = prepared.done(run_blocking(sender.deliver(batch, awaited_rules(2), port.route, deadline)))
    assert len(port.asked) == 2
    assert {request.properties for _, request, *_ in port.asked} == {
        f"UNIQ_KEY\x01{result.message_id}\x02WAIT\x01true\x02colour\x01red\x02number\x010\x02"
    }
    assert hook.calls == [
        ("prepare", {"colour": "red"}),
        ("before", True),
        ("after", ConnectionLost),
        ("before", True),
        ("after", type(None)),
        ("finish", result, None),
    ]
    assert message.properties == {"colour": "red"}


def test_an_error_is_what_finish_gets_and_goes_on() -> None:
    hook, problem = Numbering(), ConnectionLost("gone")
    prepared = PreparingHooks((hook,), "shop", "me").begin((Message("t", b"x"),), "sync")

    def fail() -> None:
        with prepared:
            prepared.done(RESULT)
            raise problem

    with pytest.raises(ConnectionLost) as raised:
        fail()
    assert raised.value is problem
    assert hook.calls[-1] == ("finish", None, problem)


def test_hooks_are_told_when_another_one_stops_the_send() -> None:
    first, wrong = Numbering(), Numbering("TAGS")
    with pytest.raises(IllegalProperty, match="property TAGS belongs to the system") as raised:
        PreparingHooks((first, wrong), "shop", "me").begin((Message("t", b"x"),), "sync")
    assert [hook.calls[-1] for hook in (first, wrong)] == [("finish", None, raised.value)] * 2


def test_what_is_asked_of_the_broker_is_shown_and_not_set_twice() -> None:
    hook = Numbering()
    hooks = PreparingHooks((hook,), "shop", "me")
    message = ReplyMessage("t", b"x", properties={"colour": "red"}, correlation_id="7")
    with begin(hooks, message, asked={"DELAY": "3"}, sharding_key="k") as prepared:
        pass
    assert hook.calls[0] == ("prepare", {"colour": "red", "DELAY": "3"})
    [changed] = prepared.messages
    assert changed.properties == {"colour": "red", "number": "0"}
    assert isinstance(changed, ReplyMessage)
    assert changed.correlation_id == "7"
    operation = prepared.operation
    assert (operation.group, operation.client_id, operation.sharding_key) == ("shop", "me", "k")
    assert operation.messages[0].properties == {"colour": "red", "DELAY": "3", "number": "0"}


def test_batches_that_go_at_once_note_each_its_own() -> None:
    sender = sender_over(ScriptedTransport(ManualClock()), hooks=(Numbering(),))
    assert sender.preparing is not None
    prepared = sender.preparing.begin((Message("t", b"x"),), "sync")
    one, two = (
        prepared.carried_by(sender.encoder.one(prepared.messages[0]), beside_others=True) for _ in range(2)
    )
    one.operations[0].extras["noted"] = 1
    assert "sent by" in two.operations[0].extras
    assert "noted" not in two.operations[0].extras


def test_without_hooks_nothing_is_done() -> None:
    message = Message("t", b"x")
    batch = sender_over(ScriptedTransport(ManualClock())).encoder.one(message)
    with begin(None, message) as prepared:
        assert isinstance(prepared, UnpreparedSend)
        assert list(prepared.messages) == [message]
        assert prepared.carried_by(batch) is batch
        assert prepared.done(RESULT) is RESULT
    assert batch.operations == ()
