"""Conformance suites of authentication and authorization, and a server's side of them without a server."""

from __future__ import annotations

import hashlib
import hmac
import random
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar, cast

import attrs
import pytest

from mqframe.core.requests import REQUESTS
from mqframe.core.requests.needs import Action, Need, Resource
from mqframe.core.wire.frame import Frame
from mqframe.hooks.interfaces import (
    Authentication,
    Authorization,
    BrokerPlace,
    Credentials,
    KeptFile,
    Refused,
    Signed,
)
from mqframe_testing.manual_clock import ManualClock

T = TypeVar("T")
JUNK = 300
TEXTS = ("", " ", "0", "admin", "\u00e9", "\U0001f600", "\ud800", "a" * 100_000, "\x00\n", "*", "../..")


class MemoryFile:
    """A kept file without a disk."""

    def __init__(self) -> None:
        self.content: bytes | None = None

    def load(self, decode: Callable[[bytes], T]) -> T | None:
        """What `decode` makes of it."""
        return None if self.content is None else decode(self.content)

    def save(self, content: bytes) -> None:
        """Replace it."""
        self.content = content


@attrs.define
class AccessStage:
    """What plugins of both kinds are handed. One more with the same `files` is the server after a restart."""

    initial: Sequence[Credentials] = (Credentials("admin", "admin-secret"),)
    inner: Credentials | None = None
    cluster: str = "DefaultCluster"
    broker: BrokerPlace = attrs.field(factory=lambda: BrokerPlace("broker-a", "127.0.0.1:10911"))
    clock: ManualClock = attrs.field(factory=ManualClock)
    files: dict[str, MemoryFile] = attrs.field(factory=dict)
    _made: dict[Any, Any] = attrs.field(factory=dict, init=False)

    def file(self, name: str) -> KeptFile | None:
        """The file of this name."""
        return self.files.setdefault(name, MemoryFile())

    def shared(self, make: Callable[[Any], T], options: object) -> T:
        """What `make(options)` gave the first time."""
        if make not in self._made:
            self._made[make] = make(options)
        return cast("T", self._made[make])


@attrs.frozen
class PlainPeer:
    """The other side of a connection."""

    address: str = "127.0.0.1:40000"
    certificate: str = ""


class AuthenticationConformance:
    """Who is known is told by name; everybody else is refused alike, whatever they send."""

    def make(self) -> Authentication:
        """A fresh plugin that knows somebody."""
        raise NotImplementedError

    def known(self) -> Iterable[tuple[str, Frame]]:
        """Users with a request of each, signed."""
        raise NotImplementedError

    def signed_texts(self) -> Iterable[Signed]:
        """Users with a text of each, signed; none where the plugin takes no signatures of texts."""
        return ()

    def test_it_has_a_name(self) -> None:
        """For logs."""
        assert self.make().name

    def test_who_signed_is_told(self) -> None:
        """Again and again, and without a change of the request."""
        plugin = self.make()
        for user, request in self.known():
            before = dict(request.ext or {})
            for _ in range(2):
                assert plugin.authenticate(PlainPeer(), request) == user
            assert request.ext == before

    def test_any_change_of_a_request_is_found(self) -> None:
        """Of a field, of the body, of the signature."""
        plugin = self.make()
        for _, request in self.known():
            ext, body = dict(request.ext or {}), bytes(request.body)
            for name, value in [*ext.items(), ("more", "")]:
                self.refused(plugin, Frame(request.code, ext={**ext, name: value + "x"}, body=body))
            self.refused(plugin, Frame(request.code, ext=ext, body=body + b"x"))

    def test_everybody_else_is_refused_alike(self) -> None:
        """The answer does not tell what was wrong; the cause, for the log, may."""
        plugin, chance = self.make(), random.Random(7)
        names = {name for _, request in self.known() for name in request.ext or {}} | {"topic"}
        remarks = {self.refused(plugin, Frame(code)).remark for code in (0, 10, 310, 99_999)}
        for _ in range(JUNK):
            ext = {chance.choice(sorted(names)): chance.choice(TEXTS) for _ in range(chance.randrange(6))}
            remarks.add(self.refused(plugin, Frame(10, ext=ext, body=chance.randbytes(20))).remark)
        assert len(remarks) == 1

    def test_who_signed_a_text_is_told_and_nobody_else(self) -> None:
        """The text, the user and the signature are one; whatever is wrong of them is refused alike."""
        plugin, chance = self.make(), random.Random(7)
        signed = list(self.signed_texts())
        remarks = set()
        for user, text, signature in signed:
            for _ in range(2):
                assert plugin.authenticate_text(PlainPeer(), user, text, signature) == user
            for wrong in (signature[:-1], signature + b"\0", b"", signature.hex().encode()):
                remarks.add(self.refused_text(plugin, user, text, wrong).remark)
            remarks.add(self.refused_text(plugin, user, text + b"x", signature).remark)
            remarks.add(self.refused_text(plugin, user + "x", text, signature).remark)
        for _ in range(JUNK):
            junk = chance.choice(TEXTS), chance.randbytes(chance.randrange(40))
            remarks.add(self.refused_text(plugin, *junk, chance.randbytes(20)).remark)
            # What somebody without a secret signs.
            empty = hmac.digest(b"", junk[1], hashlib.sha1)
            remarks.add(self.refused_text(plugin, *junk, empty).remark)
        assert len(remarks) == 1

    def refused_text(self, plugin: Authentication, user: str, text: bytes, signature: bytes) -> Refused:
        """The error of a signature of a text that is refused."""
        with pytest.raises(Refused) as caught:
            plugin.authenticate_text(PlainPeer(), user, text, signature)
        return caught.value

    def refused(self, plugin: Authentication, request: Frame) -> Refused:
        """The error of a request that is refused."""
        with pytest.raises(Refused) as caught:
            plugin.authenticate(PlainPeer(), request)
        return caught.value


class AuthorizationConformance:
    """What is not granted is refused, to those above all who are not known."""

    def make(self) -> Authorization:
        """A fresh plugin that knows somebody."""
        raise NotImplementedError

    def granted(self) -> Iterable[tuple[str, Need]]:
        """Users, with something that each may do."""
        raise NotImplementedError

    def forbidden(self) -> Iterable[tuple[str, Need]]:
        """Users, with something that each may not do."""
        raise NotImplementedError

    def test_it_has_a_name(self) -> None:
        """For logs."""
        assert self.make().name

    def test_what_is_granted_may_be(self) -> None:
        """Alone and together, twice."""
        plugin = self.make()
        for user, need in self.granted():
            for needs in ([need], [need, need], []):
                plugin.authorize(user, PlainPeer(), needs)
                plugin.authorize(user, PlainPeer(), needs)

    def test_one_need_that_is_not_granted_is_enough(self) -> None:
        """Wherever it stands among others."""
        plugin = self.make()
        allowed = list(self.granted())
        for user, need in self.forbidden():
            own = [each for name, each in allowed if name == user]
            for needs in ([need], [*own, need], [need, *own]):
                with pytest.raises(Refused):
                    plugin.authorize(user, PlainPeer(), needs)

    def test_nobody_may_do_nothing(self) -> None:
        """What requests of every kind need, and odd names."""
        plugin = self.make()
        needs = [Need(resource, name, tuple(Action)) for resource in Resource for name in TEXTS]
        for kind in REQUESTS.values():
            if not kind.has_text_body() and not kind.BODY:
                needs += kind.NEEDS.find(Frame(kind.CODE))
        for need in needs:
            with pytest.raises(Refused):
                plugin.authorize("nobody", PlainPeer(), [need])
