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
    RpcHook,
    SendContext,
    SendHook,
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


def test_a_failing_call_of_a_service_is_logged_by_name(caplog) -> None:
    calls: list[int] = []

    def fail(number: int) -> None:
        calls.append(number)
        raise RuntimeError("a bug")

    hook = SendHook()
    hook.name = "counter"
    with caplog.at_level(logging.ERROR, "mqframe.hooks"):
        isolate.isolated(hook, "arrivals", fail)(3)
    assert calls == [3]
    assert "plugin='counter'" in caplog.text
    assert "arrivals" in caplog.text


def test_interrupts_are_not_swallowed() -> None:
    class Interrupted(SendHook):
        def before(self, context):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        isolate.before_each((Interrupted(),), SEND)


def test_a_hook_without_a_name_is_called_by_its_class() -> None:
    assert isolate.hook_name(SendHook()) == "mqframe.hooks.interfaces.send_hook.SendHook"
