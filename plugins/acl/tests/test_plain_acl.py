"""Who asks, and what they may, by plain_acl.yml."""

from __future__ import annotations

import hmac
from collections.abc import Iterable
from pathlib import Path

import pytest
from mqframe_acl import AclHook, AclOptions
from mqframe_acl.plain_acl import BY_ADDRESS, PlainAuthentication, PlainAuthorization, PlainOptions
from mqframe_testing.conformance import (
    AccessStage,
    AuthenticationConformance,
    AuthorizationConformance,
    PlainPeer,
)

from mqframe.core.requests.needs import Action, Need, Resource
from mqframe.core.wire.frame import Frame
from mqframe.hooks.interfaces import Credentials, Refused, RemembersVerdicts, Signed, SignsByFields

ACCOUNTS = """
globalWhiteRemoteAddresses: [10.0.0.*]
accounts:
  - {accessKey: operator, secretKey: operator1, admin: true}
  - accessKey: shop-key
    secretKey: shopsecret
    whiteRemoteAddress: 10.1.1.1
    defaultTopicPerm: SUB
    defaultGroupPerm: DENY
    topicPerms: [orders=PUB, closed=DENY]
    groupPerms: [readers=SUB]
"""


def signed(user: str, secret: str) -> Frame:
    frame = Frame(310, ext={"topic": "orders"}, body=b"body")
    AclHook(AclOptions(access_key=user, secret_key=secret)).before("", frame)
    return frame


def signed_text(user: str, secret: str) -> Signed:
    return user, b"20251128T201500Z", hmac.digest(secret.encode(), b"20251128T201500Z", "sha1")


def topic(name: str, *actions: Action) -> Need:
    return Need(Resource.TOPIC, name, actions)


def group(name: str, *actions: Action) -> Need:
    return Need(Resource.GROUP, name, actions)


@pytest.fixture(autouse=True)
def place(request: pytest.FixtureRequest, tmp_path: Path) -> None:
    (tmp_path / "plain_acl.yml").write_text(ACCOUNTS)
    if request.instance is not None:
        request.instance.file = tmp_path / "plain_acl.yml"


def authentication(file: Path) -> PlainAuthentication:
    return PlainAuthentication(AccessStage(inner=Credentials("inner", "secret")), PlainOptions(file=file))


class TestAuthentication(AuthenticationConformance):
    file: Path

    def make(self) -> PlainAuthentication:
        return authentication(self.file)

    def known(self) -> Iterable[tuple[str, Frame]]:
        return [
            ("shop-key", signed("shop-key", "shopsecret")),
            ("operator", signed("operator", "operator1")),
            ("admin", signed("admin", "admin-secret")),
        ]

    def signed_texts(self) -> Iterable[Signed]:
        return [
            signed_text("shop-key", "shopsecret"),
            signed_text("operator", "operator1"),
            signed_text("admin", "admin-secret"),
        ]


class TestAuthorization(AuthorizationConformance):
    file: Path

    def make(self) -> PlainAuthorization:
        return PlainAuthorization(AccessStage(), PlainOptions(file=self.file))

    def granted(self) -> Iterable[tuple[str, Need]]:
        return [
            ("shop-key", topic("orders", Action.PUB)),
            ("shop-key", topic("orders", Action.GET)),
            ("shop-key", topic("others", Action.SUB, Action.UPDATE)),
            ("shop-key", group("readers", Action.SUB)),
            ("operator", topic("orders", Action.DELETE)),
            ("operator", Need(Resource.CLUSTER, "", (Action.UPDATE,))),
            ("admin", Need(Resource.CLUSTER, "", (Action.UPDATE,))),
        ]

    def forbidden(self) -> Iterable[tuple[str, Need]]:
        return [
            ("shop-key", topic("orders", Action.SUB)),
            ("shop-key", topic("others", Action.PUB)),
            ("shop-key", topic("closed", Action.GET)),
            ("shop-key", topic("orders", Action.CREATE)),
            ("shop-key", group("writers", Action.SUB)),
            ("shop-key", Need(Resource.CLUSTER, "", (Action.GET,))),
        ]


def test_nobody_is_asked_at_a_white_address(tmp_path: Path) -> None:
    file = tmp_path / "plain_acl.yml"
    plugin = authentication(file)
    assert plugin.authenticate(PlainPeer("10.0.0.9:1"), Frame(310)) == BY_ADDRESS
    # Of an account's own address its key is enough, as in RocketMQ.
    assert (
        plugin.authenticate(PlainPeer("10.1.1.1:1"), Frame(310, ext={"AccessKey": "shop-key"})) == BY_ADDRESS
    )
    for ext in ({}, {"AccessKey": "operator"}, {"AccessKey": "nobody"}):
        with pytest.raises(Refused):
            plugin.authenticate(PlainPeer("10.1.1.1:1"), Frame(310, ext=ext))
    wrong = signed_text("shop-key", "wrong")
    assert plugin.authenticate_text(PlainPeer("10.0.0.9:1"), *wrong) == BY_ADDRESS
    assert plugin.authenticate_text(PlainPeer("10.1.1.1:1"), *wrong) == BY_ADDRESS
    for given in (wrong, signed_text("operator", "wrong"), signed_text("nobody", "nobody has this secret")):
        with pytest.raises(Refused) as caught:
            plugin.authenticate_text(PlainPeer("10.1.1.2:1"), *given)
        assert given[0] in caught.value.cause
    needs = [topic("closed", Action.DELETE)]
    PlainAuthorization(AccessStage(), PlainOptions(file=file)).authorize(BY_ADDRESS, PlainPeer(), needs)


def test_a_changed_file_counts_for_both_kinds(tmp_path: Path) -> None:
    file, stage = tmp_path / "plain_acl.yml", AccessStage()
    options = PlainOptions(file=file, reload_seconds=5)
    who, what = PlainAuthentication(stage, options), PlainAuthorization(stage, options)
    what.authorize("shop-key", PlainPeer(), [topic("orders", Action.PUB)])
    file.write_text(ACCOUNTS.replace("orders=PUB", "orders=DENY").replace("operator1", "operator2"))
    stage.clock.advance(6)
    with pytest.raises(Refused):
        what.authorize("shop-key", PlainPeer(), [topic("orders", Action.PUB)])
    assert who.authenticate(PlainPeer(), signed("operator", "operator2")) == "operator"


def test_verdicts_hold_until_a_file_changes_and_white_addresses_have_no_keys(
    tmp_path: Path,
) -> None:
    file, stage = tmp_path / "plain_acl.yml", AccessStage()
    options = PlainOptions(file=file, reload_seconds=5)
    who, what = PlainAuthentication(stage, options), PlainAuthorization(stage, options)
    assert isinstance(who, SignsByFields)
    assert isinstance(what, RemembersVerdicts)
    before = who.verdict_version
    keys = [who.signing_key(PlainPeer(), name) for name in ("shop-key", "admin", "nobody", "")]
    assert keys == [b"shopsecret", b"admin-secret", None, None]
    for white in ("10.0.0.9:1", "10.1.1.1:1"):
        assert who.signing_key(PlainPeer(white), "shop-key") is None
    assert who.signing_key(PlainPeer("10.1.1.1:1"), "operator") == b"operator1"
    stage.clock.advance(6)
    assert who.verdict_version is what.verdict_version is before
    # Nothing but a secret is another one now.
    file.write_text(ACCOUNTS.replace("operator1", "operator2"))
    stage.clock.advance(6)
    assert who.verdict_version is what.verdict_version is not before
    assert who.signing_key(PlainPeer(), "operator") == b"operator2"


def test_servers_sign_with_the_inner_credentials(tmp_path: Path) -> None:
    plugin = authentication(tmp_path / "plain_acl.yml")
    signer = plugin.signer()
    assert signer is not None
    frame = Frame(103, ext={})
    signer.before("", frame)
    assert (frame.ext or {})["AccessKey"] == "inner"
