"""Who may follow a master: with access control those whose hello is signed by somebody who may."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import certificates
import msgspec
import pytest
import trustme
from master_port import HELLO, HOME, Place
from mqframe_replication.rules.hello import Hello, Welcome, signed_frame
from mqframe_replication.stream.slave_admission import SlaveAdmission
from mqframe_testing.manual_clock import ManualClock
from net.access.plugins import manager

from mqframe.core.wire.frame import Frame
from mqframe.hooks.interfaces import AccessPort, Authentication, Caller, Refused, RpcHook
from mqframe.hooks.manager import PluginManager
from mqframe.hooks.specs import hookimpl
from mqframe.net.access.access import Access, kept_below
from mqframe.net.access.guard import FAILED
from mqframe.net.access.settings import AccessSettings
from mqframe.net.tls.contexts import client_context
from mqframe.store.files.config_file import ConfigFile

ACL2 = AccessSettings(
    authentication="acl2", authorization="acl2", initial_user="admin:secret", inner_credentials="inner:inside"
)
USERS = """{"users":[{"username":"reader","password":"secret","userType":"Normal"}],
"acls":[{"subject":"User:reader","policies":[{"policyType":"Custom",
"entries":[{"resource":"Topic:*","actions":["All"],"decision":"Allow"}]}]}]}"""


def acl2(folder: Path) -> Access:
    (folder / "access.json").write_text(USERS)
    keep = kept_below(folder, ConfigFile)
    return Access(ACL2, ManualClock(), PluginManager(), cluster="C", keep=keep)


def signing(user: str, secret: str) -> RpcHook:
    hook: RpcHook
    [hook] = PluginManager().create_all("rpc_hook", [("acl", {"access_key": user, "secret_key": secret})])
    return hook


def signed(hello: Hello, challenge: str, user: str = "inner", secret: str = "inside") -> Hello:
    frame = signed_frame(hello, challenge)
    signing(user, secret).before("master", frame)
    return msgspec.structs.replace(hello, access=frame.ext)


@pytest.mark.parametrize(("user", "secret"), [("inner", "inside"), ("admin", "secret")])
async def test_a_hello_that_is_signed_upon_a_challenge_is_welcome(
    tmp_path: Path, user: str, secret: str
) -> None:
    async with Place(access=acl2(tmp_path)) as place:
        line = await place.connect()
        asked = await line.greet()
        assert len(asked.challenge) == 64
        assert (asked.refusal, asked.start, asked.end) == ("", 0, 0)  # nothing is told to a stranger
        assert await line.greet(signed(HELLO, asked.challenge, user, secret)) == Welcome(start=1000, end=1250)
        await line.report(1250)
        assert place.followed == [(1250, 1250)]


@pytest.mark.parametrize(
    ("user", "secret", "refusal"),
    [
        ("inner", "guessed", FAILED),
        ("nobody", "secret", FAILED),
        ("reader", "secret", "User:reader has no permission to access Cluster:C from 127.0.0.1"),
    ],
)
async def test_whoever_may_not_is_refused_before_anything_is_told(
    tmp_path: Path, user: str, secret: str, refusal: str
) -> None:
    async with Place(access=acl2(tmp_path)) as place:
        line = await place.connect()
        asked = await line.greet(msgspec.structs.replace(HELLO, broker="other"))
        hello = signed(msgspec.structs.replace(HELLO, broker="other"), asked.challenge, user, secret)
        said = (await line.greet(hello)).refusal
        assert said.startswith(refusal)
        assert "broker-a" not in said
        assert await line.is_left()


async def test_a_signature_counts_once_and_for_what_was_signed(tmp_path: Path) -> None:
    async with Place(access=acl2(tmp_path)) as place:
        line = await place.connect()
        good = signed(HELLO, (await line.greet()).challenge)
        assert (await line.greet(good)).refusal == ""
        again = await place.connect()
        await again.greet()
        assert (await again.greet(good)).refusal.startswith(FAILED)
        first = await place.connect()
        assert (await first.greet(good)).challenge  # whatever it carries
        other = await place.connect()
        hello = signed(HELLO, (await other.greet()).challenge)
        changed = msgspec.structs.replace(hello, id=2)
        assert (await other.greet(changed)).refusal.startswith(FAILED)


async def test_plain_slaves_are_told_of_in_the_log(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    async with Place(access=acl2(tmp_path)) as place:
        line = await place.connect()
        await line.report(1250)
        assert await line.is_left()
        assert "it does not say who it is, and this master has access control" in caplog.text


async def test_users_that_fit_are_told_what_does_not(tmp_path: Path) -> None:
    async with Place(access=acl2(tmp_path)) as place:
        line, hello = await place.connect(), msgspec.structs.replace(HELLO, broker="other")
        welcome = await line.greet(signed(hello, (await line.greet(hello)).challenge))
        assert "this master is 'broker-a'" in welcome.refusal


async def test_an_authentication_that_fails_lets_nobody_in() -> None:
    async with Place(
        access=Access(AccessSettings(authentication="naming"), ManualClock(), manager())
    ) as place:
        line = await place.connect()
        await line.greet()
        hello = msgspec.structs.replace(HELLO, access={"user": "broken"})
        assert (await line.greet(hello)).refusal.startswith(FAILED)


class ByCertificate(Authentication):
    """A user is known by the certificate of the connection."""

    name = "by_certificate"

    def __init__(self, port: AccessPort) -> None:
        pass

    def authenticate(self, caller: Caller, request: Frame) -> str:
        if not caller.certificate:
            raise Refused("show a certificate", "there is none")
        return caller.certificate


class Certifying:
    @hookimpl
    def register_authentications(self) -> Any:
        return {"by_certificate": ByCertificate}


async def test_a_certificate_of_the_connection_may_stand_for_a_signature(tmp_path: Path) -> None:
    authority = trustme.CA()
    pems = certificates.issue(authority, tmp_path / "master")
    slave = certificates.issue(authority, tmp_path / "slave", common_name="slave.example.org")
    plugins = manager()
    plugins.register(Certifying(), "certifying")
    access = Access(AccessSettings(authentication="by_certificate"), ManualClock(), plugins)

    net = pems.server(tls_server_client_auth="optional", tls_server_ca_file=pems.ca)
    async with Place(access=access, net=net) as place:
        shown = slave.client(tls_cert_file=slave.cert, tls_key_file=slave.key)
        line = await place.connect(client_context(shown))
        await line.greet()
        assert await line.greet() == Welcome(start=1000, end=1250)
        line = await place.connect(client_context(pems.client()))
        await line.greet()
        assert (await line.greet()).refusal.startswith("show a certificate")


def test_access_control_that_asks_nobody_changes_nothing() -> None:
    admission = SlaveAdmission(HOME, "as_needed")
    admission.enforce(Access(AccessSettings(), ManualClock(), PluginManager()))
    assert admission.plain_refusal == admission.challenge() == ""
