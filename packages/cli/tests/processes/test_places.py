"""Where several brokers are, and what is said of those that are not started."""

from __future__ import annotations

import logging
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from mqframe_cli.processes.exporters import Exporters
from mqframe_cli.processes.places import BrokerSite, places, warn_of_unserved
from mqframe_cli.settings.configuration import load

from mqframe.core.config.configuration import Resolved
from mqframe.core.errors import SettingError

DATA = Path("/data/store")


def settings(*items: str, file: Path | None = None) -> Any:
    def of(name: str) -> Resolved:
        return load("server", {}, file, [f"store.directory={DATA}", *items], {}, profile=name)

    return of


def test_the_first_is_where_a_single_one_is_and_the_others_beside_it() -> None:
    assert places(1, settings()) == [BrokerSite("broker-a", 10911, DATA)]
    assert places(3, settings()) == [
        BrokerSite("broker-a", 10911, DATA),
        BrokerSite("broker-b", 10921, Path("/data/store-b")),
        BrokerSite("broker-c", 10931, Path("/data/store-c")),
    ]


def test_a_name_that_does_not_end_with_a_keeps_it_whole() -> None:
    assert [each.name for each in places(3, settings("broker.name=shop"))] == ["shop", "shop-b", "shop-c"]
    assert [each.name for each in places(2, settings("broker.name=shop-a"))] == ["shop-a", "shop-b"]


def test_any_free_port_is_any_for_all() -> None:
    assert [each.port for each in places(3, settings("broker.port=0"))] == [0, 0, 0]


def test_metrics_ports_follow_that_of_the_name_server() -> None:
    def metrics_ports(count: int, port: int) -> list[Any]:
        of = settings(f"metrics.port={port}")
        exporters = Exporters(of(""), ("nameserver",))
        return [
            dict(each.exporting)["metrics.port"]
            for each in places(count, of, exporting=exporters.settings_beside)
        ]

    assert metrics_ports(2, 5557) == [5558, 5559]
    assert metrics_ports(2, 0) == [0, 0]
    with pytest.raises(
        SettingError, match=r"^--brokers 2 with metrics from port 65534 on: the last is 65535$"
    ):
        metrics_ports(2, 65534)
    assert [each.exporting for each in places(2, settings())] == [(), ()]


def test_ports_of_operators_are_as_far_apart_as_those_of_clients() -> None:
    found = places(2, settings("broker.operator_port=10913"))
    assert [each.operator_port for each in found] == [10913, 10923]


def test_ports_that_there_are_not_are_refused() -> None:
    assert places(2, settings("broker.port=65525"))[-1].port == 65535
    with pytest.raises(SettingError, match="--brokers 2 from port 65526 on would need port 65536"):
        places(2, settings("broker.port=65526"))


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "server.toml"
    path.write_text(
        '[broker]\nport = 2000\n[broker.broker-b]\nport = 3000\n[store.broker_c]\ndirectory = "/other"\n'
    )
    return path


def test_what_a_profile_says_of_one_broker_counts_for_that(file: Path) -> None:
    found = places(3, partial(load, "server", {}, file, (), {}))
    assert [each.port for each in found] == [2000, 3000, 2020]
    assert found[2].directory == Path("/other")


def test_stores_and_settings_of_nobody_are_named(
    tmp_path: Path, file: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "store-b").mkdir()
    where = [BrokerSite("broker-a", 1, tmp_path / "store"), BrokerSite("broker-c", 2, Path("/other"))]
    with caplog.at_level(logging.WARNING, "mqframe_cli"):
        warn_of_unserved(where, load("server", {}, file, (), {}))
    assert [record.getMessage() for record in caplog.records] == [
        "settings of a broker that is not started section='broker.broker-b'"
    ]
    caplog.clear()
    with caplog.at_level(logging.WARNING, "mqframe_cli"):
        warn_of_unserved(where[:1], load("server", {}, None, (), {}))
    assert [record.getMessage() for record in caplog.records] == [
        f"messages of a broker that is not started directory='{tmp_path}/store-b'"
    ]
