from __future__ import annotations

import pytest
from conf_files import broker_conf
from mqframe_cli.settings.rocketmq_meanings import ROCKETMQ

from mqframe.core.config.configuration import resolve
from mqframe.core.config.layers import command_line, environment
from mqframe.core.errors import SettingError
from mqframe.net.settings import NetSettings


def test_defaults_are_the_numbers_of_the_reference() -> None:
    settings = NetSettings()
    assert (settings.frame_bytes_max, settings.idle_seconds) == (16 * 1024 * 1024, 120)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("frame_bytes_max", 10),
        ("idle_seconds", 0),
        ("connect_timeout_seconds", 21),
        ("unsent_bytes_max", 1),
        ("in_flight_requests_max", 0),
        ("in_flight_bytes_max", 0),
    ],
)
def test_bad_values_name_their_setting(name: str, value: int) -> None:
    with pytest.raises(SettingError, match=f"net.{name}"):
        NetSettings(**{name: value})


def test_tls_is_off_and_verifies_everything_once_it_is_on() -> None:
    settings = NetSettings()
    assert (settings.tls, settings.tls_verify, settings.tls_server_mode) == (False, "full", "permissive")


@pytest.mark.parametrize(
    ("name", "value"),
    [("tls_verify", "some"), ("tls_server_mode", "on"), ("tls_server_client_auth", "true")],
)
def test_words_of_tls_are_checked(name: str, value: str) -> None:
    with pytest.raises(SettingError, match=f"net.{name} = '{value}': must be one of"):
        NetSettings(**{name: value})


CONF = """\
tls.enable=true
tls.client.authServer=%s
tls.client.trustCertPath=/ca.pem
tls.client.certPath=/cert.pem
tls.client.keyPath=/key.pem
tls.server.mode=enforcing
tls.server.certPath=/server.pem
tls.server.keyPath=/server.key
tls.server.trustCertPath=/clients.pem
tls.server.need.client.auth=require
tls.test.mode.enable=false
tls.server.authClient=true
"""


@pytest.mark.parametrize(("trust", "verify"), [("true", "chain"), ("false", "none")])
def test_properties_of_rocketmq_mean_the_same(trust: str, verify: str) -> None:
    expected = NetSettings(
        tls=True,
        tls_verify=verify,
        tls_ca_file="/ca.pem",
        tls_cert_file="/cert.pem",
        tls_key_file="/key.pem",
        tls_server_mode="enforcing",
        tls_server_cert_file="/server.pem",
        tls_server_key_file="/server.key",
        tls_server_ca_file="/clients.pem",
        tls_server_client_auth="require",
    )
    for layer in (broker_conf(CONF % trust, "b.conf"), command_line((CONF % trust).split())):
        resolved = resolve([NetSettings], [layer], dialect=ROCKETMQ)
        assert resolved.section(NetSettings) == expected
        assert resolved.warnings == (
            "known to RocketMQ but without effect here: tls.server.authClient, tls.test.mode.enable",
        )


def test_bad_properties_are_named() -> None:
    with pytest.raises(
        SettingError, match=r"tls\.client\.authServer = 'x' from b\.conf:1: must be true or false"
    ):
        resolve([NetSettings], [broker_conf("tls.client.authServer=x", "b.conf")])
    with pytest.raises(SettingError, match=r"tls\.sever\.mode"):
        resolve([NetSettings], [command_line(["tls.sever.mode=enforcing"])])


def test_the_environment_secures_connections() -> None:
    layer = environment({"MQFRAME_NET_TLS": "true", "MQFRAME_NET_TLS_CA_FILE": "/ca.pem"})
    assert resolve([NetSettings], [layer]).section(NetSettings) == NetSettings(
        tls=True, tls_ca_file="/ca.pem"
    )
