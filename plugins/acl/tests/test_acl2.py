"""Who asks, and what they may, by users and policies."""

from __future__ import annotations

import hmac
import sys
from collections.abc import Callable, Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mqframe_acl import AclHook, AclOptions
from mqframe_acl.acl2 import Acl2Authentication, Acl2Authorization, Acl2Options
from mqframe_acl.policies import Policies, policies_of
from mqframe_acl.table import User, UserTable
from mqframe_admin.access.bodies import AclInfo, PolicyEntryInfo, PolicyInfo
from mqframe_testing.conformance import (
    AccessStage,
    AuthenticationConformance,
    AuthorizationConformance,
    PlainPeer,
)

from mqframe.core.requests.needs import Action, Need, Resource
from mqframe.core.wire.frame import Frame
from mqframe.hooks.interfaces import Credentials, Refused, RemembersVerdicts, Signed, SignsByFields

ORDERS = Need(Resource.TOPIC, "orders", (Action.PUB,))
OTHERS = Need(Resource.TOPIC, "others", (Action.PUB,))
CLUSTER = Need(Resource.CLUSTER, "", (Action.GET,))


def signed(user: str, secret: str, ext: dict[str, str] | None = None, body: bytes = b"body") -> Frame:
    frame = Frame(310, ext={"topic": "orders"} if ext is None else dict(ext), body=body)
    AclHook(AclOptions(access_key=user, secret_key=secret)).before("", frame)
    return frame


def signed_text(user: str, secret: str, text: bytes = b"20251128T201500Z") -> Signed:
    return user, text, hmac.digest(secret.encode(), text, "sha1")


def policy(*entries: PolicyEntryInfo) -> Policies:
    return policies_of(AclInfo([PolicyInfo(list(entries))]), Policies())


class Both:
    """The two kinds on one stage, with a user `shop` that may publish to one topic."""

    def __init__(self, **options: object) -> None:
        self.stage = AccessStage(inner=Credentials("inner", "inner-secret"))
        given = Acl2Options(**options)  # type: ignore[arg-type]
        self.authentication = Acl2Authentication(self.stage, given)
        self.authorization = Acl2Authorization(self.stage, given)
        ((administration,), (same,)) = self.authentication.serving(), self.authorization.serving()
        assert administration is same
        self.table: UserTable = self.authentication._table
        self.table.put(User("shop", "shop-secret"))
        self.table.set_policies("shop", policy(PolicyEntryInfo("Topic:orders", ["Pub"], "Allow")))


class TestAuthentication(AuthenticationConformance):
    def make(self) -> Acl2Authentication:
        return Both().authentication

    def known(self) -> Iterable[tuple[str, Frame]]:
        return [("shop", signed("shop", "shop-secret")), ("admin", signed("admin", "admin-secret", {}, b""))]

    def signed_texts(self) -> Iterable[Signed]:
        return [signed_text("shop", "shop-secret"), signed_text("admin", "admin-secret", b"")]


class TestAuthorization(AuthorizationConformance):
    def make(self) -> Acl2Authorization:
        return Both().authorization

    def granted(self) -> Iterable[tuple[str, Need]]:
        return [("shop", ORDERS), ("admin", ORDERS), ("admin", CLUSTER)]

    def forbidden(self) -> Iterable[tuple[str, Need]]:
        return [("shop", OTHERS), ("shop", CLUSTER), ("shop", ORDERS._replace(actions=(Action.SUB,)))]


def test_who_is_disabled_is_refused_like_a_stranger_and_let_in_again() -> None:
    both = Both()
    both.table.put(User("shop", "shop-secret", enabled=False))
    with pytest.raises(Refused, match="Authentication failed") as caught:
        both.authentication.authenticate(PlainPeer(), signed("shop", "shop-secret"))
    assert "disabled" in caught.value.cause
    with pytest.raises(Refused, match="Authentication failed") as caught:
        both.authentication.authenticate_text(PlainPeer(), *signed_text("shop", "shop-secret"))
    assert "disabled" in caught.value.cause
    both.table.put(User("shop", "shop-secret"))
    assert both.authentication.authenticate(PlainPeer(), signed("shop", "shop-secret")) == "shop"
    assert both.authentication.authenticate_text(PlainPeer(), *signed_text("shop", "shop-secret")) == "shop"


def test_a_change_counts_for_the_next_request() -> None:
    both = Both()
    both.authorization.authorize("shop", PlainPeer(), [ORDERS])
    both.table.set_policies("shop", policy(PolicyEntryInfo("Topic:orders", ["Pub"], "Deny")))
    with pytest.raises(Refused, match="User:shop has no permission to access Topic:orders from 127"):
        both.authorization.authorize("shop", PlainPeer(), [ORDERS])
    both.table.put(User("shop", "shop-secret", everything=True))
    both.authorization.authorize("shop", PlainPeer(), [ORDERS, CLUSTER])


def test_verdicts_hold_until_users_or_policies_change() -> None:
    both = Both()
    who, what = both.authentication, both.authorization
    assert isinstance(who, SignsByFields)
    assert isinstance(what, RemembersVerdicts)
    changes: list[Callable[[], None]] = [
        lambda: both.table.put(User("shop", "another")),
        lambda: both.table.put(User("shop", "another", enabled=False)),
        lambda: both.table.set_policies("shop", policy(PolicyEntryInfo("Topic:orders", ["Pub"], "Deny"))),
        lambda: both.table.remove("shop"),
    ]
    keys = []
    for change in changes:
        before = who.verdict_version, what.verdict_version
        both.authentication.authenticate(PlainPeer(), signed("admin", "admin-secret"))
        what.authorize("admin", PlainPeer(), [ORDERS])
        assert before[0] is who.verdict_version
        assert before[1] is what.verdict_version
        keys.append(who.signing_key(PlainPeer(), "shop"))
        change()
        assert before[0] is not who.verdict_version
        assert before[1] is not what.verdict_version
    keys.append(who.signing_key(PlainPeer(), "shop"))
    assert keys == [b"shop-secret", b"another", None, None, None]
    assert who.signing_key(PlainPeer(), "") is None


def test_the_cluster_is_granted_by_its_name() -> None:
    both = Both()
    both.table.set_policies("shop", policy(PolicyEntryInfo("Cluster:DefaultCluster", ["Get"], "Allow")))
    both.authorization.authorize("shop", PlainPeer(), [CLUSTER])
    both.table.set_policies("shop", policy(PolicyEntryInfo("Cluster:Another", ["Get"], "Allow")))
    with pytest.raises(Refused, match="Cluster:DefaultCluster"):
        both.authorization.authorize("shop", PlainPeer(), [CLUSTER])


def test_where_somebody_is_is_asked_each_time() -> None:
    both = Both()
    both.table.set_policies("shop", policy(PolicyEntryInfo("Topic:orders", ["Pub"], "Allow", ["10.0.0.0/8"])))
    both.authorization.authorize("shop", PlainPeer("10.1.1.1:1"), [ORDERS])
    with pytest.raises(Refused):
        both.authorization.authorize("shop", PlainPeer("11.1.1.1:1"), [ORDERS])


def test_a_certificate_stands_for_its_user() -> None:
    both = Both(certificate_users={"shop.example.org": "shop", "gone.example.org": "gone"})
    known = PlainPeer(certificate="shop.example.org")
    assert both.authentication.authenticate(known, Frame(310)) == "shop"
    assert both.authentication.authenticate(known, signed("admin", "admin-secret")) == "admin"
    for caller in (PlainPeer(), PlainPeer(certificate="other"), PlainPeer(certificate="gone.example.org")):
        with pytest.raises(Refused):
            both.authentication.authenticate(caller, Frame(310))
    with pytest.raises(Refused):
        both.authentication.authenticate(known, signed("shop", "wrong"))
    both.table.put(User("shop", "shop-secret", enabled=False))
    with pytest.raises(Refused):
        both.authentication.authenticate(known, Frame(310))


def test_a_wrong_signature_of_a_text_tells_the_log_what_was_wrong_and_is_not_made_up_for() -> None:
    both = Both(certificate_users={"shop.example.org": "shop"})
    known = PlainPeer(certificate="shop.example.org")
    for wrong, cause in (
        (signed_text("shop", "wrong"), "the signature for 'shop' is wrong"),
        (signed_text("nobody", "nobody has this secret"), "no user 'nobody'"),
        (("shop", b"20251128T201500Z", b""), "the signature for 'shop' is wrong"),
        (("", b"", b""), "no user ''"),
    ):
        with pytest.raises(Refused) as caught:
            both.authentication.authenticate_text(known, *wrong)
        assert caught.value.cause == cause


def test_servers_sign_with_the_inner_credentials() -> None:
    both = Both()
    signer = both.authentication.signer()
    assert signer is not None
    frame = Frame(103, ext={"brokerName": "a"})
    signer.before("", frame)
    assert (frame.ext or {})["AccessKey"] == "inner"
    assert Acl2Authentication(AccessStage(), Acl2Options()).signer() is None


@given(st.dictionaries(st.text(max_size=30), st.text(max_size=300), max_size=40), st.binary(max_size=100))
def test_any_headers_of_a_user_are_signed_and_checked(ext: dict[str, str], body: bytes) -> None:
    both = Both()
    assert both.authentication.authenticate(PlainPeer(), signed("shop", "shop-secret", ext, body)) == "shop"


def test_long_names_are_not_remembered() -> None:
    both = Both()
    both.table.set_policies("shop", policy(PolicyEntryInfo("Topic:*", ["Pub"], "Allow")))
    for chars, kept in ((100, True), (100_000, False)):
        name = "x" * chars
        before = sys.getrefcount(name)
        both.authorization.authorize("shop", PlainPeer(), [Need(Resource.TOPIC, name, (Action.PUB,))])
        assert (sys.getrefcount(name) > before) is kept
