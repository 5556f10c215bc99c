"""The suites of access control: good plugins pass, each faulty one is caught by the check of its rule."""

from __future__ import annotations

import hmac
from collections.abc import Iterable, Sequence

import pytest
from faults import caught_by
from mqframe_testing.conformance import (
    AccessStage,
    AuthenticationConformance,
    AuthorizationConformance,
    PlainPeer,
)
from mqframe_testing.conformance.access import MemoryFile

from mqframe.core.requests.needs import Action, Need, Resource
from mqframe.core.wire.frame import Frame
from mqframe.hooks.interfaces import Authentication, Authorization, Caller, Refused, Signed

MINE = Need(Resource.TOPIC, "orders", (Action.PUB,))
THEIRS = Need(Resource.TOPIC, "others", (Action.PUB,))


def whole(request: Frame) -> str:
    """A bad signature: everything that was sent."""
    fields = {key: value for key, value in (request.ext or {}).items() if key != "signature"}
    return f"{sorted(fields.items())}{bytes(request.body)!r}"


def signed() -> Frame:
    request = Frame(310, ext={"user": "shop"}, body=b"body")
    request.ext = {"user": "shop", "signature": whole(request)}
    return request


class Whole(Authentication):
    name = "whole"

    def authenticate(self, caller: Caller, request: Frame) -> str:
        ext = request.ext or {}
        if ext.get("user") != "shop" or ext.get("signature") != whole(request):
            raise Refused("no", f"user {ext.get('user')!r}")
        return "shop"

    def authenticate_text(self, caller: Caller, user: str, text: bytes, signature: bytes) -> str:
        if user != "shop" or not hmac.compare_digest(signature, hmac.digest(b"secret", text, "sha1")):
            raise Refused("no", f"user {user!r}")
        return "shop"


class TestAuthentication(AuthenticationConformance):
    def make(self) -> Authentication:
        return Whole()

    def known(self) -> Iterable[tuple[str, Frame]]:
        return [("shop", signed())]

    def signed_texts(self) -> Iterable[Signed]:
        return [("shop", b"now", hmac.digest(b"secret", b"now", "sha1"))]


class Nameless(Whole):
    name = ""


class Talkative(Whole):
    """Says what was wrong."""

    def authenticate(self, caller: Caller, request: Frame) -> str:
        if "user" not in (request.ext or {}):
            raise Refused("no user", "")
        return super().authenticate(caller, request)


class Trusting(Whole):
    """Looks at the name alone."""

    def authenticate(self, caller: Caller, request: Frame) -> str:
        if (request.ext or {}).get("user") != "shop":
            raise Refused("no", "")
        return "shop"


class Tidy(Whole):
    """Takes the signature away."""

    def authenticate(self, caller: Caller, request: Frame) -> str:
        user = super().authenticate(caller, request)
        (request.ext or {}).pop("signature")
        return user


class TrustingTexts(Whole):
    """Looks at the name alone, of whoever signs a text."""

    def authenticate_text(self, caller: Caller, user: str, text: bytes, signature: bytes) -> str:
        if user != "shop":
            raise Refused("no", "")
        return "shop"


class Cutting(Whole):
    """Compares as much of a signature as was sent."""

    def authenticate_text(self, caller: Caller, user: str, text: bytes, signature: bytes) -> str:
        wanted = hmac.digest(b"secret", text, "sha1")[: len(signature)]
        if user != "shop" or wanted != signature:
            raise Refused("no", "")
        return "shop"


class Wordless(Whole):
    """Takes no signatures of texts."""

    authenticate_text = Authentication.authenticate_text


@pytest.mark.parametrize(
    ("faulty", "check"),
    [
        (TrustingTexts, "test_who_signed_a_text_is_told_and_nobody_else"),
        (Cutting, "test_who_signed_a_text_is_told_and_nobody_else"),
        (Wordless, "test_who_signed_a_text_is_told_and_nobody_else"),
        (Nameless, "test_it_has_a_name"),
        (Talkative, "test_everybody_else_is_refused_alike"),
        (Trusting, "test_any_change_of_a_request_is_found"),
        (Tidy, "test_who_signed_is_told"),
    ],
)
def test_a_faulty_authentication_is_caught(faulty: type[Authentication], check: str) -> None:
    class Suite(TestAuthentication):
        def make(self) -> Authentication:
            return faulty()

    assert check in caught_by(Suite)


def test_signatures_of_texts_need_not_be_taken() -> None:
    class Suite(TestAuthentication):
        def make(self) -> Authentication:
            return Wordless()

        def signed_texts(self) -> Iterable[Signed]:
            return ()

    assert caught_by(Suite) == []


class OneTopic(Authorization):
    name = "one_topic"

    def authorize(self, user: str, caller: Caller, needs: Sequence[Need]) -> None:
        if any(user != "shop" or need != MINE for need in needs):
            raise Refused("no", "")


class TestAuthorization(AuthorizationConformance):
    def make(self) -> Authorization:
        return OneTopic()

    def granted(self) -> Iterable[tuple[str, Need]]:
        return [("shop", MINE)]

    def forbidden(self) -> Iterable[tuple[str, Need]]:
        return [("shop", THEIRS)]


class Hasty(OneTopic):
    """Looks at the first need alone."""

    def authorize(self, user: str, caller: Caller, needs: Sequence[Need]) -> None:
        super().authorize(user, caller, needs[:1])


class Welcoming(OneTopic):
    """Knows everybody."""

    def authorize(self, user: str, caller: Caller, needs: Sequence[Need]) -> None:
        if user == "shop":
            super().authorize(user, caller, needs)


class Closed(OneTopic):
    """Lets nobody in."""

    def authorize(self, user: str, caller: Caller, needs: Sequence[Need]) -> None:
        raise Refused("no", "")


@pytest.mark.parametrize(
    ("faulty", "check"),
    [
        (Hasty, "test_one_need_that_is_not_granted_is_enough"),
        (Welcoming, "test_nobody_may_do_nothing"),
        (Closed, "test_what_is_granted_may_be"),
    ],
)
def test_a_faulty_authorization_is_caught(faulty: type[Authorization], check: str) -> None:
    class Suite(TestAuthorization):
        def make(self) -> Authorization:
            return faulty()

    assert check in caught_by(Suite)


def test_a_stage_keeps_files_and_what_is_shared() -> None:
    stage = AccessStage()
    file = stage.file("users")
    assert isinstance(file, MemoryFile)
    assert file.load(bytes.decode) is None
    file.save(b"shop")
    again = AccessStage(files=stage.files).file("users")
    assert again is not None
    assert again.load(bytes.decode) == "shop"
    assert stage.shared(list, "a") is stage.shared(list, "b")
    assert PlainPeer().certificate == ""
