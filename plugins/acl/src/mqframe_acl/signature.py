"""Signatures of requests: HMAC-SHA1 over header values and body (sources: AclUtils.java, AclSigner.java)."""

from __future__ import annotations

import hmac
from base64 import b64encode
from typing import Final

from mqframe.core.wire.frame import Body, Frame

ACCESS_KEY: Final = "AccessKey"
SECURITY_TOKEN: Final = "SecurityToken"
SIGNATURE: Final = "Signature"
"""Header fields (source: SessionCredentials.java)."""

_UNSIGNED_ONCE: Final = "_UNIQUE_KEY_QUERY"
_ONCE: Final = 399
"""Clients up to this version (4.9.3) do not sign that field."""


class Signer:
    """Signs with one secret, whose bytes are `key`. Threads may share it."""

    __slots__ = ("_mac", "key")

    def __init__(self, secret: str) -> None:
        self.key = secret.encode("utf-8", "replace")
        self._mac = hmac.new(self.key, digestmod="sha1")

    def sign(self, request: Frame, body: Body) -> str:
        """The signature of `request` with `body`; one that it has already does not count."""
        # Values alone are signed, in the order of their keys. Java writes what is no text as "?".
        ext = request.ext or {}
        old = request.version <= _ONCE
        values = [ext[key] for key in sorted(ext) if key != SIGNATURE and not (old and key == _UNSIGNED_ONCE)]
        mac = self._mac.copy()
        mac.update("".join(values).encode("utf-8", "replace"))
        mac.update(body)
        return b64encode(mac.digest()).decode()

    def fits(self, request: Frame) -> bool:
        """Whether the signature that `request` carries is right; takes as long for any that is not."""
        given = (request.ext or {}).get(SIGNATURE, "")
        wanted = self.sign(request, request.body)
        return hmac.compare_digest(wanted.encode(), given.encode("utf-8", "replace"))

    def fits_text(self, text: bytes, signature: bytes) -> bool:
        """Whether `signature` is that of `text` alone; takes as long for any that is not."""
        mac = self._mac.copy()
        mac.update(text)
        return hmac.compare_digest(mac.digest(), signature)
