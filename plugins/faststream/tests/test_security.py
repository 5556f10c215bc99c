"""FastStream's security objects in mqframe's terms."""

from __future__ import annotations

import ssl

import pytest
from faststream.security import BaseSecurity, SASLPlaintext, SASLScram512
from mqframe_faststream import OptionError
from mqframe_faststream.security import secured

from mqframe import NetSettings


def test_nothing_asked_for_is_nothing_changed() -> None:
    net = NetSettings()
    assert secured(None, net, ["a"]) == (net, ("a",))


def test_keys_sign_requests() -> None:
    net, hooks = secured(SASLPlaintext("user", "secret", use_ssl=False), None, ["trace"])
    assert (net, hooks) == (None, ("trace", ("acl", {"access_key": "user", "secret_key": "secret"})))


def test_tls_is_asked_for_beside_what_is_set() -> None:
    net, hooks = secured(BaseSecurity(use_ssl=True), NetSettings(tls_ca_file="ca.pem"), ())
    assert net is not None
    assert (net.tls, net.tls_ca_file, hooks) == (True, "ca.pem", ())


@pytest.mark.parametrize(
    ("security", "match"),
    [
        (SASLScram512("u", "p"), "SASLScram512"),
        (BaseSecurity(ssl_context=ssl.create_default_context()), "ssl_context"),
    ],
)
def test_what_rocketmq_does_not_have_is_an_error(security, match) -> None:
    with pytest.raises(OptionError, match=match):
        secured(security, None, ())
