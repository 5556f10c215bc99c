"""Secrets by name, and inside of values."""

from __future__ import annotations

import pytest

from mqframe.core.config.secret_names import holds_secret, is_secret_name


@pytest.mark.parametrize(
    "name",
    [
        "secretKey",
        "PASSWORD",
        "tls.keyPassphrase",
        "authToken",
        "clientCredentials",
        "dbPasswd",
        "private_key",
    ],
)
def test_secrets_are_known_by_name(name: str) -> None:
    assert is_secret_name(name)


@pytest.mark.parametrize("name", ["", "brokerName", "tls_key_file", "access_key", "pass"])
def test_other_names_are_not(name: str) -> None:
    assert not is_secret_name(name)


@pytest.mark.parametrize(
    "value",
    ['{"username":"a","password":"hush"}', "secretKey=hush", "Token: x", "postgresql://me:hush@db/x"],
)
def test_secrets_inside_of_values_are_found(value: str) -> None:
    assert holds_secret(value)


@pytest.mark.parametrize("value", ["", "127.0.0.1:9876", "http://h:1/p", "x=1", "a token of thanks"])
def test_other_values_hold_none(value: str) -> None:
    assert not holds_secret(value)
