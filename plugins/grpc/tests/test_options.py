from __future__ import annotations

import pytest
from mqframe_grpc.options import GrpcOptions

from mqframe import PluginManager
from mqframe.core.errors import SettingError


def test_limits_follow_options() -> None:
    options = GrpcOptions(
        body_bytes_max=100, message_group_bytes_max=9, invisible_min_ms=5, connections_max=3
    )
    assert (options.sends.body_bytes_max, options.sends.group_bytes_max) == (100, 9)
    assert options.receives.invisible_min_ms == 5
    assert options.connections.connections_max == 3
    assert options.connections.message_bytes_max > 100


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("port", 70_000),
        ("tls", "sometimes"),
        ("renew_ms", 1),
        ("batch_max", 0),
        ("colour", "red"),
        ("signature_age_ms", -1),
        ("tls_client_auth", "require"),
    ],
)
def test_wrong_options_are_named(name: str, value: object) -> None:
    with pytest.raises(SettingError, match=name):
        PluginManager().configured({"grpc": {name: value}}).check("broker_service", "grpc")
