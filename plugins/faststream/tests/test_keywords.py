"""What a broker is told of its connection, and what is said at once when it makes no sense."""

from __future__ import annotations

import pytest
from faststream.security import SASLPlaintext, SASLScram256
from mqframe_faststream import MqframeBroker, OptionError

from mqframe import PluginError, SettingError


@pytest.mark.parametrize(
    ("options", "error", "match"),
    [
        ({"nameserver": "nowhere"}, SettingError, "not host:port"),
        ({"colour": "red"}, OptionError, "no option colour"),
        ({"group": "no group"}, OptionError, "may hold only"),
        ({"pattern_seconds": 0}, OptionError, "pattern_seconds is 0 s"),
        ({"consume_from": "middle"}, OptionError, "broker: consume_from is 'middle'"),
        ({"topic_queues": -1}, OptionError, "topic_queues is -1"),
        ({"send_hooks": ["no-such-hook"]}, PluginError, "no-such-hook"),
        ({"security": SASLScram256("user", "secret")}, OptionError, "SASLScram256"),
    ],
)
def test_what_makes_no_sense_is_said_at_construction(options, error, match) -> None:
    with pytest.raises(error, match=match):
        MqframeBroker(**options)


def test_servers_come_from_the_arguments_the_settings_or_the_environment(monkeypatch) -> None:
    from mqframe import ClientSettings

    def urls(*args, **options) -> list[str]:
        return MqframeBroker(*args, **options).specification.url

    monkeypatch.delenv("NAMESRV_ADDR", raising=False)
    assert urls() == ["rocketmq://127.0.0.1:9876"]
    monkeypatch.setenv("NAMESRV_ADDR", "a:1;b:2")
    assert urls() == ["rocketmq://a:1", "rocketmq://b:2"]
    assert urls(client=ClientSettings(nameserver="c:3")) == ["rocketmq://c:3"]
    assert urls(["d:4", "e:5"]) == ["rocketmq://d:4", "rocketmq://e:5"]
    assert urls("f:6", specification_url="rocketmq://shown") == ["rocketmq://shown"]


def test_keys_are_taken_for_signing() -> None:
    broker = MqframeBroker(security=SASLPlaintext("user", "secret", use_ssl=True))
    assert broker.specification.security is not None
