"""Plugins of access control for tests: a user names herself, and may do what her name says."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from mqframe.core.requests.needs import Need
from mqframe.core.requests.serving import Call
from mqframe.core.wire.frame import Frame
from mqframe.hooks.interfaces import AccessPort, Authentication, Authorization, Caller, Refused
from mqframe.hooks.manager import PluginManager
from mqframe.hooks.specs import hookimpl


class Naming(Authentication):
    name = "naming"

    def __init__(self, port: AccessPort) -> None:
        self.port = port

    def authenticate(self, caller: Caller, request: Frame) -> str:
        user = (request.ext or {}).get("user", "")
        if user == "broken":
            raise RuntimeError("the table of users is on fire")
        if not user:
            raise Refused("who are you?", "the request names nobody")
        return user

    def authenticate_text(self, caller: Caller, user: str, text: bytes, signature: bytes) -> str:
        if text != signature:
            raise Refused("who are you?", f"the signature for {user} is wrong")
        return self.authenticate(caller, Frame(0, ext={"user": user}))


class Matching(Authorization):
    """A user may do what is called like her; root everything."""

    name = "matching"

    def __init__(self, port: AccessPort) -> None:
        self.port = port

    def authorize(self, user: str, caller: Caller, needs: Sequence[Need]) -> None:
        if user != "root" and any(need.name != user for need in needs):
            raise Refused("that is not yours", f"{user} wants too much")


class Plugin:
    @hookimpl
    def register_authentications(self) -> Any:
        return {"naming": Naming}

    @hookimpl
    def register_authorizations(self) -> Any:
        return {"matching": Matching}


def manager() -> PluginManager:
    made = PluginManager()
    made.register(Plugin(), "naming")
    return made


class Somebody:
    address = "127.0.0.1:4711"
    certificate = ""


def call(code: int, body: bytes = b"", **ext: str) -> Call:
    peer: Any = Somebody()
    return Call(Frame(code, ext=ext, body=body), peer, 0.0)
