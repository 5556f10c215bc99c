"""The plugins of a process, and what they are handed."""

from __future__ import annotations

from pathlib import Path

from mqframe_testing.manual_clock import ManualClock
from net.access.plugins import Matching, Naming, manager

from mqframe.hooks.interfaces import BrokerPlace, Credentials
from mqframe.net.access.access import Access, Port, kept_below
from mqframe.net.access.settings import AccessSettings
from mqframe.store.files.config_file import ConfigFile

BOTH = AccessSettings(
    authentication="naming", authorization="matching", initial_user="a:1", inner_credentials="b:2"
)


def test_plugins_are_handed_one_port(tmp_path: Path) -> None:
    clock = ManualClock()
    keep = kept_below(tmp_path, ConfigFile)
    access = Access(BOTH, clock, manager(), cluster="C", keep=keep)
    assert isinstance(access.authentication, Naming)
    assert isinstance(access.authorization, Matching)
    port = access.authentication.port
    assert access.authorization.port is port
    assert (port.clock, port.cluster) == (clock, "C")
    assert port.initial == [Credentials("a", "1"), Credentials("b", "2")]
    assert port.inner == Credentials("b", "2")
    file = port.file("users.json")
    assert file is not None
    file.save(b"x")
    assert (tmp_path / "users.json").read_bytes() == b"x"
    assert access.serving() == []
    assert access.signer() is None


def test_plugins_know_the_first_broker_once_there_is_one() -> None:
    access = Access(AccessSettings(authentication="naming"), ManualClock(), manager())
    assert isinstance(access.authentication, Naming)
    port = access.authentication.port
    assert port.broker == BrokerPlace("", "")
    address = "10.0.0.1:0"
    access.of_broker(lambda: BrokerPlace("broker-a", address))
    access.of_broker(lambda: BrokerPlace("broker-b", "10.0.0.2:10911"))
    address = "10.0.0.1:10911"
    assert port.broker == BrokerPlace("broker-a", "10.0.0.1:10911")


def test_without_settings_there_is_nothing() -> None:
    access = Access(AccessSettings(), ManualClock(), manager())
    assert (access.authentication, access.authorization, access.signer()) == (None, None, None)
    assert kept_below(None, ConfigFile) is None


def test_both_kinds_share_what_was_made_first() -> None:
    port = Port(ManualClock(), "", [], None, None)
    assert port.shared(list, "ab") == ["a", "b"]
    assert port.shared(list, "cd") is port.shared(list, "")
    assert port.file("users.json") is None
