from __future__ import annotations

import ssl
from pathlib import Path
from typing import Any

import pytest
from etcd_servers import Certificates, coordination
from mqframe_etcd import EtcdOptions
from mqframe_testing import ManualClock

from mqframe.core.errors import SettingError
from mqframe.hooks.manager import PluginManager

SECURE = ("https://127.0.0.1:2379",)


@pytest.mark.parametrize(
    "endpoint",
    [
        "127.0.0.1:2379",
        "http://127.0.0.1",
        "ftp://a:1",
        "http://a:1/v3",
        "http://me@a:1",
        "http://a:x",
        "http://:1",
    ],
)
def test_an_endpoint_is_a_url_with_a_port_and_nothing_behind(endpoint: str) -> None:
    with pytest.raises(SettingError, match="no address such as"):
        EtcdOptions(endpoints=(endpoint,))


def test_endpoints_are_there_and_of_one_kind() -> None:
    with pytest.raises(SettingError, match="one address at least"):
        EtcdOptions(endpoints=())
    with pytest.raises(SettingError, match="https for all, or for none"):
        EtcdOptions(endpoints=("http://a:1", "https://a:2"))
    assert EtcdOptions(endpoints=("https://[::1]:2379", "https://a:2/")).secure
    assert not EtcdOptions().secure


@pytest.mark.parametrize("prefix", ["", "mqframe", "/mqframe/", "/"])
def test_a_prefix_begins_with_a_slash_and_does_not_end_with_one(prefix: str) -> None:
    with pytest.raises(SettingError, match="must begin with /"):
        EtcdOptions(prefix=prefix)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"user": "me"}, "user and password"),
        ({"password": "x"}, "user and password"),
        ({"endpoints": SECURE, "certificate": Path("c")}, "certificate and key"),
        ({"endpoints": SECURE, "key": Path("c")}, "certificate and key"),
        ({"ca": Path("c")}, "option ca of plugin etcd needs endpoints with https"),
        ({"certificate": Path("c"), "key": Path("k")}, "option certificate of plugin etcd needs endpoints"),
    ],
)
def test_options_that_contradict_each_other_are_refused(options: dict[str, Any], words: str) -> None:
    with pytest.raises(SettingError, match=words):
        coordination(**options)


def test_files_that_cannot_be_used_are_named(tmp_path: Path) -> None:
    certificates = Certificates(tmp_path)
    absent, empty = tmp_path / "absent.pem", tmp_path / "empty.pem"
    empty.touch()
    for bad in (absent, empty):
        with pytest.raises(SettingError, match=f"option ca of plugin etcd = '{bad}'"):
            EtcdOptions(endpoints=SECURE, ca=bad).ssl_context()
        with pytest.raises(SettingError, match=f"option certificate and key of plugin etcd = '{bad}'"):
            EtcdOptions(endpoints=SECURE, certificate=bad, key=certificates.client_key).ssl_context()
    with pytest.raises(SettingError, match="option certificate and key"):
        EtcdOptions(
            endpoints=SECURE, certificate=certificates.client, key=certificates.member_key
        ).ssl_context()


def test_certificates_of_etcd_are_always_verified(tmp_path: Path) -> None:
    context = EtcdOptions(endpoints=SECURE, ca=Certificates(tmp_path).ca).ssl_context()
    assert isinstance(context, ssl.SSLContext)
    assert context.verify_mode is ssl.CERT_REQUIRED
    assert context.check_hostname
    assert len(context.get_ca_certs()) == 1
    assert EtcdOptions().ssl_context() is False


def test_options_come_from_a_table_and_the_password_shows_nowhere() -> None:
    table = {"endpoints": "http://a:1,http://b:2", "user": "me", "password": "hush", "timeout_seconds": "0.5"}
    options = PluginManager().check("coordination", ("etcd", table))
    assert options == EtcdOptions(
        endpoints=("http://a:1", "http://b:2"), user="me", password="hush", timeout_seconds=0.5
    )
    assert "hush" not in repr(options)
    made = PluginManager().create("coordination", "etcd", table, ManualClock())
    assert type(made).__name__ == "EtcdCoordination"
