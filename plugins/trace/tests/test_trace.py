"""The hooks by their names, and their options."""

import attrs
import pytest
from mqframe_trace import ConsumeTrace, SendTrace, TraceOptions

from mqframe.core.errors import SettingError
from mqframe.hooks.manager import PluginManager


def test_both_are_found_by_name_with_their_options() -> None:
    manager = PluginManager()
    hook = manager.create("send_hook", "trace", {"topic": "traces", "batch_records_max": 5})
    assert isinstance(hook, SendTrace)
    assert (hook.outbox.options.topic, hook.outbox.options.batch_records_max) == ("traces", 5)
    assert isinstance(manager.create("consume_hook", "trace"), ConsumeTrace)


@pytest.mark.parametrize(
    "options",
    [
        {"batch_records_max": 0},
        {"waiting_records_max": 0},
        {"flush_seconds": 0.0},
        {"unknown": 1},
        {"topic": 7},
    ],
)
def test_bad_options_are_named(options: dict[str, object]) -> None:
    with pytest.raises(SettingError, match=next(iter(options))):
        PluginManager().create("send_hook", "trace", options)


def test_options_are_a_settings_class() -> None:
    assert attrs.has(TraceOptions)
