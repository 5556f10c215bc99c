import logging
from collections.abc import Callable

import pytest

from mqframe.core.errors import Refusal
from mqframe.core.messages.message import Message, MessageQueue
from mqframe.core.wire.frame import Frame
from mqframe.hooks import isolate
from mqframe.hooks.interfaces import (
    ConsumeContext,
    ConsumeHook,
    Forbidden,
    ForbiddenContext,
    ForbiddenHook,
    IllegalProperty,
    RpcHook,
    SendContext,
    SendHook,
    SendOperation,
    SendStopped,
)

QUEUE = MessageQueue("orders", "broker-a", 0)
SEND = SendContext("shop", [Message("orders", b"x")], ["1"], QUEUE, "127.0.0.1:1", "sync", 0)
CONSUME = ConsumeContext("billing", [], QUEUE, "c")
FORBIDDEN = ForbiddenContext("shop", Message("orders", b"x"), QUEUE, "127.0.0.1:1", "sync")
FRAME = Frame(10)
ADDRESS = "127.0.0.1:1"


def recorder(base: type, name: str, calls: list[str], error: Exception | None = None):
    """A hook of `base` that notes its calls and perhaps fails."""

    def noted(what: str) -> Callable[..., None]:
        def call(self, *_):
            calls.append(f"{what} {name}")
            if error is not None:
                raise error

        return call

    members = {what: noted(what) for what in ("before", "after", "check")}
    made = type(name, (base,), members)()
    made.name = name
    return made


PAIRS = [
    (SendHook, lambda h: isolate.before_each(h, SEND), lambda h: isolate.after_each(h, SEND)),
    (ConsumeHook, lambda h: isolate.before_each(h, CONSUME), lambda h: isolate.after_each(h, CONSUME)),
    (
        RpcHook,
        lambda h: isolate.before_rpc(h, ADDRESS, FRAME, serving=False),
        lambda h: isolate.after_rpc(h, ADDRESS, FRAME, None),
    ),
]


@pytest.mark.parametrize(("base", "before", "after"), PAIRS)
def test_a_faulty_hook_is_logged_by_name_and_stops_nobody(base, before, after, caplog) -> None:
    calls: list[str] = []
    hooks = (
        recorder(base, "one", calls),
        recorder(base, "faulty", calls, ValueError("oops")),
        recorder(base, "three", calls),
    )
    with caplog.at_level(logging.ERROR, "mqframe.hooks"):
        before(hooks)
        after(hooks)
    assert calls == [
        "before one",
        "before faulty",
        "before three",
        "after three",
        "after faulty",
        "after one",
    ]
    # Not the rendered text: pyspark, where it was used before, puts a format of its own on all handlers.
    told = [record for record in caplog.records if record.name == "mqframe.hooks"]
    assert [record.levelname for record in told] == ["ERROR", "ERROR"]
    for record in told:
        assert "plugin='faulty'" in record.getMessage()
        assert record.exc_info is not None
        assert repr(record.exc_info[1]) == "ValueError('oops')"


def test_only_forbidden_stops_a_send(caplog) -> None:
    calls: list[str] = []
    hooks = (
        recorder(ForbiddenHook, "faulty", calls, RuntimeError("oops")),
        recorder(ForbiddenHook, "strict", calls, Forbidden("not this topic")),
        recorder(ForbiddenHook, "last", calls),
    )
    with caplog.at_level(logging.ERROR, "mqframe.hooks"), pytest.raises(Forbidden, match="not this topic"):
        isolate.check_forbidden(hooks, FORBIDDEN)
    assert calls == ["check faulty", "check strict"]
    assert "plugin='faulty'" in caplog.text


def test_a_refusal_stops_a_served_request_but_not_a_call(caplog) -> None:
    calls: list[str] = []
    hooks = (
        recorder(RpcHook, "guard", calls, Refusal(16, "no permission")),
        recorder(RpcHook, "last", calls),
    )
    with pytest.raises(Refusal, match="no permission"):
        isolate.before_rpc(hooks, ADDRESS, FRAME, serving=True)
    assert calls == ["before guard"]
    with caplog.at_level(logging.ERROR, "mqframe.hooks"):
        isolate.before_rpc(hooks, ADDRESS, FRAME, serving=False)
    assert calls == ["before guard", "before guard", "before last"]
    assert "plugin='guard'" in caplog.text


def test_interrupts_are_not_swallowed() -> None:
    class Interrupted(SendHook):
        def before(self, context):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        isolate.before_each((Interrupted(),), SEND)


def test_a_hook_without_a_name_is_called_by_its_class() -> None:
    assert isolate.hook_name(SendHook()) == "mqframe.hooks.interfaces.send_hook.SendHook"


# Hooks that act


class Setter(SendHook):
    """Sets `pairs` on all messages, then perhaps fails."""

    def __init__(self, name: str, calls: list[str], *pairs: tuple, error: Exception | None = None) -> None:
        self.name = name
        self.calls = calls
        self.pairs = pairs
        self.error = error

    def prepare(self, operation):
        self.calls.append(f"prepare {self.name} {dict(operation.messages[0].properties)}")
        for pair in self.pairs:
            operation.set_property(*pair)
        if self.error is not None:
            raise self.error

    def finish(self, operation):
        self.calls.append(f"finish {self.name}")
        if self.error is not None:
            raise self.error


def operation(*bodies: bytes) -> SendOperation:
    messages = [Message("orders", body, properties={"colour": "red"}) for body in bodies or (b"x",)]
    return SendOperation("shop", messages, "sync")


def test_hooks_prepare_in_order_and_see_what_was_set_before() -> None:
    calls: list[str] = []
    send = operation(b"one", b"two")
    before = list(send.messages)
    hooks = (Setter("a", calls, ("p", "1"), ("q", "2", 1)), Setter("b", calls, ("p", "3", -1)))
    assert isolate.prepare_each(hooks, send) == {0: {"p": "1"}, 1: {"p": "3", "q": "2"}}
    isolate.finish_each(hooks, send)
    assert calls == [
        "prepare a {'colour': 'red'}",
        "prepare b {'colour': 'red', 'p': '1'}",
        "finish b",
        "finish a",
    ]
    assert [message.properties for message in send.messages] == [
        {"colour": "red", "p": "1"},
        {"colour": "red", "p": "3", "q": "2"},
    ]
    assert [message.properties for message in before] == [{"colour": "red"}] * 2


def test_what_a_failing_hook_has_set_is_dropped(caplog) -> None:
    calls: list[str] = []
    send = operation()
    hooks = (
        Setter("a", calls, ("p", "1")),
        Setter("faulty", calls, ("p", "2"), error=ValueError("oops")),
        Setter("wrong", calls, ("q", "3", 1)),  # there is one message
        Setter("c", calls, ("r", "4")),
    )
    with caplog.at_level(logging.ERROR, "mqframe.hooks"):
        assert isolate.prepare_each(hooks, send) == {0: {"p": "1", "r": "4"}}
        isolate.finish_each(hooks, send)
    assert calls[3:] == [
        "prepare c {'colour': 'red', 'p': '1'}", "finish c", "finish wrong", "finish faulty", "finish a"
    ]  # fmt: skip
    assert caplog.text.count("plugin='faulty'") == 2
    assert caplog.text.count("plugin='wrong'") == 1


def test_an_illegal_property_stops_a_send_by_the_name_of_its_hook() -> None:
    calls: list[str] = []
    hooks = (
        Setter("a", calls, ("p", "x" * 20_000)),
        Setter("b", calls, ("q", "x" * 20_000)),
        Setter("c", calls),
    )
    with pytest.raises(IllegalProperty, match=r"^send hook b: properties .* 4\d{4} bytes, 32767 are allowed"):
        isolate.prepare_each(hooks, operation())
    assert len(calls) == 2
    with pytest.raises(IllegalProperty, match=r"^send hook d: property WAIT belongs to the system"):
        isolate.prepare_each((Setter("d", calls, ("WAIT", "false")),), operation())


class Unwanted(SendStopped):
    """What a hook does not let pass."""

    colour = "green"


class Guarding(SendHook):
    name = "guard"

    def prepare(self, operation: SendOperation) -> None:
        raise Unwanted("the message is green")


def test_a_hook_stops_a_send_by_an_error_of_its_own_kind() -> None:
    with pytest.raises(Unwanted, match=r"^send hook guard: the message is green$") as stopped:
        isolate.prepare_each((Guarding(),), operation())
    assert stopped.value.colour == "green"
