"""What the settings of a lite pull consumer mean for its pulls."""

from __future__ import annotations

from mqframe_pull.settings import LitePullSettings
from mqframe_testing.manual_clock import ManualClock

from mqframe.core.consuming.flow_control import FetchLimits, FlowLimits


def test_every_limit_and_pause_reaches_the_pulls() -> None:
    settings = LitePullSettings(
        pull_messages_max=3,
        pull_bytes_max=4,
        pull_wait_seconds=5.0,
        pull_timeout_seconds=6.0,
        error_seconds=7.0,
        queue_messages_max=8,
        queue_bytes_max=9,
        queue_span_max=10,
        held_messages_max=11,
        held_bytes_max=12,
    )
    clock = ManualClock()
    found = settings.fetch_options("g", clock)
    assert found.limits == FetchLimits(queue=FlowLimits(8, 9, 10), held_messages_max=11, held_bytes_max=12)
    assert (found.group, found.clock, found.lite) == ("g", clock, True)
    assert (found.messages_max, found.bytes_max) == (3, 4)
    assert (found.wait_seconds, found.timeout_seconds, found.error_seconds) == (5.0, 6.0, 7.0)
    assert found.interval_seconds == 0.0
