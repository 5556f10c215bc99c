"""What is said where a broker lacks the service that a message needs."""

from __future__ import annotations

import pytest

from mqframe.broker.sending.needed_services import (
    DELAY,
    DELAY_LEVELS,
    NEEDED_SERVICES,
    TRANSACTIONS,
    asking_for,
    without,
)
from mqframe.core.codes import ResponseCode
from mqframe.core.config.programs import STANDARD_SERVICES
from mqframe.core.delay.options import DELAY_NAMES
from mqframe.hooks import missing


def test_services_are_known_by_what_messages_ask_for() -> None:
    assert asking_for(TRANSACTIONS) == {"TRAN_MSG"}
    assert asking_for(DELAY_LEVELS) == {"DELAY"}
    assert asking_for(DELAY) == DELAY_NAMES - {"DELAY"}
    assert set(NEEDED_SERVICES.values()) <= set(STANDARD_SERVICES)


@pytest.mark.parametrize(
    ("service", "code", "words"),
    [
        (TRANSACTIONS, ResponseCode.NO_PERMISSION, "this broker takes no transactional messages"),
        (DELAY_LEVELS, ResponseCode.SYSTEM_ERROR, "this broker delivers no delayed messages"),
        (DELAY, ResponseCode.SYSTEM_ERROR, "this broker delivers nothing at a given time"),
    ],
)
def test_a_sender_is_told_why_a_service_is_missing(
    service: str, code: ResponseCode, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    left_out = without(service, [service])
    assert left_out.code == code
    assert left_out.remark == f"{words}: its service {service} is left out (broker.services_blocked)"
    key = ("broker_service", service)
    monkeypatch.setattr(missing, "KNOWN_DISTRIBUTIONS", {key: "mqframe-plugin-sums"})
    assert without(service, []).remark == (
        f"{words}: its service {service} is not installed; install it with: pip install mqframe-plugin-sums"
    )
    monkeypatch.setattr(missing, "KNOWN_DISTRIBUTIONS", {})
    assert without(service, []).remark == f"{words}: it has no service {service}"
