"""Which service a message needs, and what is said where that is missing."""

from __future__ import annotations

import pytest

from mqframe.broker.chosen_services import BUILT_IN
from mqframe.broker.sending.needed_services import NEEDED, why_missing


def test_what_is_needed_is_a_service_that_brokers_have() -> None:
    assert set(NEEDED.values()) <= set(BUILT_IN)
    named = ("TRAN_MSG", "DELAY", "TIMER_DELIVER_MS")
    assert [NEEDED[name] for name in named] == ["transactions", "delay_levels", "delay"]


@pytest.mark.parametrize(
    ("service", "blocked", "said"),
    [
        ("delay", ("pop", "delay"), "the service delay is left out by broker.services_blocked"),
        ("delay_levels", (), "the service delay_levels is missing"),
        (
            "schedules",
            (),
            "the service schedules is not installed; install it with: pip install mqframe-plugin-schedules",
        ),
    ],
)
def test_a_missing_service_is_named(service: str, blocked: tuple[str, ...], said: str) -> None:
    assert why_missing(service, blocked) == said
