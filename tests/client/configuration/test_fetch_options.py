"""How settings of consumers become pulls."""

from __future__ import annotations

from mqframe_testing.manual_clock import ManualClock

from mqframe.client.configuration.fetch_options import FetchOptions, FetchSettings
from mqframe.core.consuming.flow_control import FetchLimits, FlowLimits
from mqframe.core.retry.backoff import ERROR_SECONDS


def test_a_group_pulls_as_it_is_set() -> None:
    clock, limits = ManualClock(), FetchLimits(queue=FlowLimits(1, 2, 3))
    settings = FetchSettings(
        pull_messages_max=7, pull_bytes_max=8, pull_wait_seconds=9.0, pull_timeout_seconds=10.0
    )
    assert settings.options("g", clock, limits) == FetchOptions(
        group="g",
        clock=clock,
        limits=limits,
        messages_max=7,
        bytes_max=8,
        wait_seconds=9.0,
        timeout_seconds=10.0,
        interval_seconds=0.0,
        error_seconds=ERROR_SECONDS,
        lite=False,
    )
