"""The RPC hook `acl`: every request of a client signed with an access key."""

from __future__ import annotations

from mqframe.core.config.settings import setting, settings
from mqframe.core.errors import SettingError
from mqframe.core.wire.frame import Frame
from mqframe.hooks.interfaces import RpcHook
from mqframe_acl.signature import ACCESS_KEY, SECURITY_TOKEN, SIGNATURE, Signer


def _not_empty(value: str) -> str | None:
    return None if value.strip() else "is empty"


@settings("plugins.acl")
class AclOptions:
    """Who signs. Blanks around the values do not count."""

    access_key: str = setting(doc="name of the user, or of the key", check=_not_empty)
    secret_key: str = setting(doc="what only the user and the broker know", check=_not_empty, secret=True)
    security_token: str | None = setting(
        None, doc="token of a temporary key, sent along; none: there is none", secret=True
    )


class AclHook(RpcHook):
    """Signs requests as Apache RocketMQ's clients do (source: AclClientRPCHook.java).

    Used by any number of threads. Calls that a broker refuses because of the key raise `AccessError`.
    """

    name = "acl"
    Options = AclOptions

    def __init__(self, options: AclOptions) -> None:
        self._fields = {ACCESS_KEY: options.access_key.strip()}
        if options.security_token is not None:
            if not options.security_token.strip():
                raise SettingError("plugins.acl.security_token: is empty; leave it out")
            self._fields[SECURITY_TOKEN] = options.security_token.strip()
        self._signer = Signer(options.secret_key.strip())

    def __repr__(self) -> str:
        return f"<AclHook {self._fields[ACCESS_KEY]}>"

    def before(self, address: str, request: Frame) -> None:
        """Add key, token and signature to the header fields."""
        ext = request.ext
        if ext is None:
            ext = request.ext = {}
        ext.update(self._fields)
        ext[SIGNATURE] = self._signer.sign(request, request.body)
