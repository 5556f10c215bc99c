"""The hooks by their names, and their options."""

import pytest
from mqframe_opentelemetry import ConsumeTelemetry, SendTelemetry
from opentelemetry.metrics import NoOpMeterProvider
from opentelemetry.trace import NoOpTracerProvider

from mqframe.core.errors import SettingError
from mqframe.hooks.manager import PluginManager


def test_both_are_found_by_name_with_their_options() -> None:
    manager = PluginManager()
    hook = manager.create("send_hook", "opentelemetry", {"tag": False, "namespace": "eu"})
    assert isinstance(hook, SendTelemetry)
    assert (hook.options.tag, hook.options.keys, hook.options.namespace) == (False, True, "eu")
    made = manager.create("consume_hook", "opentelemetry", {"children": False})
    assert isinstance(made, ConsumeTelemetry)
    assert made.options.children is False


@pytest.mark.parametrize("options", [{"tag": "perhaps"}, {"unknown": 1}, {"namespace": 7}])
def test_bad_options_are_named(options: dict[str, object]) -> None:
    with pytest.raises(SettingError, match=next(iter(options))):
        PluginManager().create("send_hook", "opentelemetry", options)


def test_without_an_sdk_nothing_is_told_and_nothing_fails() -> None:
    from mqframe.core.messages.message import Message
    from mqframe.hooks.interfaces import SendOperation
    from mqframe.hooks.isolate import prepare_each

    # What the API gives where no SDK was set up; other tests of this process may have set one up.
    hook = SendTelemetry(tracer_provider=NoOpTracerProvider(), meter_provider=NoOpMeterProvider())
    operation = SendOperation("shop", [Message("orders", b"body")], "sync")
    assert prepare_each([hook], operation) == {}
    hook.finish(operation)
    assert operation.extras == {}
