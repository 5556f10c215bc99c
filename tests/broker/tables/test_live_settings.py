"""Which code a change of a running broker's settings is refused with."""

from __future__ import annotations

import pytest

from mqframe.broker.settings import BrokerSettings
from mqframe.broker.tables.live_settings import LiveSettings
from mqframe.core.errors import Refusal
from mqframe.core.requests.failures import refused


def test_a_change_is_in_force_at_once_and_named():
    live = LiveSettings(BrokerSettings())
    assert live.change("brokerPermission=4\nlongPollingEnable=false\n") == {"permission", "long_polling"}
    assert (live.current.permission, live.current.long_polling) == (4, False)


@pytest.mark.parametrize(
    ("line", "code"),
    [
        ("nonsense=1", 29),
        ("brokerPermission=8", 29),
        ("brokerPermission=all", 29),
        ("brokerName=other", 16),
        ("popCkStayBufferTime=5000", 16),
    ],
)
def test_a_refused_change_leaves_everything_as_it_was(line, code):
    live = LiveSettings(BrokerSettings())
    before = live.current
    with pytest.raises(Exception, match=line.partition("=")[0].removeprefix("broker")[1:]) as caught:
        live.change(f"longPollingEnable=false\n{line}")
    assert refused(caught.value).code == code
    assert live.current is before


def test_an_unknown_key_is_a_refusal():
    with pytest.raises(Refusal):
        LiveSettings(BrokerSettings()).change("x")
