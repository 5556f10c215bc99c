"""Settings of access control."""

from __future__ import annotations

import pytest
from conf_files import broker_conf

from mqframe.core.config.configuration import resolve
from mqframe.core.errors import SettingError
from mqframe.hooks.interfaces import Credentials
from mqframe.net.access.settings import AccessSettings, credentials


def test_users_are_written_as_rocketmq_does_or_shorter() -> None:
    shop = Credentials("shop", "a:secret")
    assert credentials("shop:a:secret") == shop
    assert credentials('{"username": "shop", "password": "a:secret"}') == shop
    assert credentials('{"accessKey":"shop","secretKey":"a:secret"}') == shop
    assert credentials("") is None


@pytest.mark.parametrize(
    "text", ["shop", "shop:", ":secret", "{", '{"username":"shop"}', "[]:", '{"username":7}']
)
def test_what_names_no_user_is_told_without_the_secret(text: str) -> None:
    with pytest.raises(SettingError) as caught:
        AccessSettings(initial_user=text)
    assert "access.initial_user = (secret): " in str(caught.value)


def test_nothing_is_granted_to_people_unknown() -> None:
    with pytest.raises(SettingError, match=r"needs access\.authentication"):
        AccessSettings(authorization="acl2")


def test_keys_of_rocketmq() -> None:
    text = """
authenticationEnabled=true
authorizationEnabled = true
authenticationWhitelist=105, 34
authorizationWhitelist=10
initAuthenticationUser={"username":"rocketmq","password":"12345678"}
innerClientAuthenticationCredentials={"accessKey":"inner","secretKey":"12345678"}
"""
    settings = resolve([AccessSettings], [broker_conf(text, "broker.conf")]).section(AccessSettings)
    assert (settings.authentication, settings.authorization) == ("acl2", "acl2")
    assert credentials(settings.initial_user) == Credentials("rocketmq", "12345678")
    assert credentials(settings.inner_credentials) == Credentials("inner", "12345678")
    assert settings.authentication_whitelist == (105, 34)
    assert settings.authorization_whitelist == (10,)
    with pytest.raises(SettingError, match=r"authorizationWhitelist = 'SEND' .*must be codes of requests"):
        resolve([AccessSettings], [broker_conf("authorizationWhitelist=SEND", "b")])
    off = resolve([AccessSettings], [broker_conf("authenticationEnabled=false", "b")]).section(AccessSettings)
    assert off == AccessSettings()
    with pytest.raises(SettingError, match="must be true or false"):
        resolve([AccessSettings], [broker_conf("authenticationEnabled=perhaps", "b")])
    assert "12345678" not in repr(settings)


@pytest.mark.parametrize(
    ("text", "plugins"),
    [
        ("aclEnable=true", ("plain_acl", "plain_acl")),
        ("aclEnable=false", ("", "")),
        ("aclEnable=true\nauthenticationEnabled=true", ("acl2", "")),
        ("aclEnable=true\nauthenticationEnabled=true\nauthorizationEnabled=true", ("acl2", "acl2")),
    ],
)
def test_the_switch_of_rocketmq_4(text: str, plugins: tuple[str, str]) -> None:
    settings = resolve([AccessSettings], [broker_conf(text, "broker.conf")]).section(AccessSettings)
    assert (settings.authentication_plugin, settings.authorization_plugin) == plugins
