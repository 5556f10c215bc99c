"""What plugins of access control are handed, and what they raise."""

from __future__ import annotations

from mqframe.core.errors import Refusal
from mqframe.hooks.interfaces import Authentication, Authorization, Credentials, Refused


def test_a_secret_does_not_show() -> None:
    assert repr(Credentials("shop", "s3cr3t")) == "<Credentials of shop>"


def test_a_cause_stays_here() -> None:
    refused = Refused("go away", "user shop is disabled")
    assert isinstance(refused, Refusal)
    assert (refused.code, refused.remark) == (16, "go away")
    assert "shop" not in str(refused)


def test_plugins_serve_and_sign_nothing_by_default() -> None:
    assert Authentication().serving() == ()
    assert Authentication().signer() is None
    assert Authorization().serving() == ()
