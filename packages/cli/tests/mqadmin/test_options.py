"""Options as mqadmin's scripts write them."""

from __future__ import annotations

from datetime import datetime

import pytest
from mqframe_cli.mqadmin.options import broker_named, flag, masters_of, time_ms

from mqframe import Admin
from mqframe.core.errors import SettingError


def test_times() -> None:
    assert time_ms("-s", "now") == time_ms("-s", "-1") == -1
    assert time_ms("-s", "1700000000000") == 1_700_000_000_000
    noon = datetime(2026, 1, 31, 12).timestamp() * 1000
    assert time_ms("-s", "2026-01-31#12:00:00:000") == noon
    assert time_ms("-s", "2026-01-31#12:00:00:250") == noon + 250
    assert time_ms("-s", "2026-01-31#12:00:00") == noon
    for text in ("", "yesterday", "2026-01-31#25:00:00:000", "2026-01-31#12:00:00:ms"):
        with pytest.raises(SettingError, match="-s"):
            time_ms("-s", text)


def test_flags() -> None:
    assert flag("-o", "true")
    assert flag("-o", "TRUE")
    assert not flag("-o", "false")
    with pytest.raises(SettingError, match="-o yes: must be true or false"):
        flag("-o", "yes")


def test_brokers_are_named_by_address_or_name(at: str) -> None:
    with Admin(nameserver=at) as admin:
        (address,) = admin.cluster.masters().values()
        assert broker_named(admin, None) is None
        assert broker_named(admin, address) == broker_named(admin, "broker-a") == "broker-a"
        assert masters_of(admin, address, None) == masters_of(admin, None, "DefaultCluster")
        with pytest.raises(SettingError, match=f"no broker of that address is registered; known: {address}"):
            broker_named(admin, "127.0.0.1:1")
        with pytest.raises(SettingError, match="say which brokers"):
            masters_of(admin, None, None)
