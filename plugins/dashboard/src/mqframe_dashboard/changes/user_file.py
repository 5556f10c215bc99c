"""A file of users who may sign in: a line for each, with what is left of the secret after scrypt."""

from __future__ import annotations

import asyncio
import binascii
import hashlib
import hmac
import secrets
from base64 import b64decode, b64encode
from pathlib import Path
from typing import Final

import attrs

from mqframe.core.errors import SettingError

COST, BLOCK, PARALLEL = 1 << 14, 8, 1
"""The parameters of scrypt: 16 MiB and some 50 ms for each try."""
_LENGTH: Final = 32
_TITLE: Final = "scrypt"
AT_ONCE: Final = 2
"""Secrets that are looked at at the same time."""


@attrs.frozen
class Hash:
    """What is kept of a secret."""

    salt: bytes = attrs.field(repr=False)
    digest: bytes = attrs.field(repr=False)

    @classmethod
    def of(cls, secret: str) -> Hash:
        """The hash of a new secret."""
        salt = secrets.token_bytes(16)
        return cls(salt, _digest(secret, salt))

    def fits(self, secret: str) -> bool:
        """Whether this was made of `secret`."""
        return hmac.compare_digest(self.digest, _digest(secret, self.salt))


_NOBODY: Final = Hash(bytes(16), bytes(_LENGTH))


class UserFile:
    """The users in the file at `path`, which is read again at each sign-in."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._turns = asyncio.Semaphore(AT_ONCE)

    def read(self) -> dict[str, Hash]:
        """Hashes by user. Raises `SettingError`, which names the line."""
        try:
            lines = self._path.read_text("utf-8").splitlines()
        except (OSError, UnicodeDecodeError) as problem:
            raise SettingError(f"--sign-in file:{self._path}: cannot be read: {problem}") from None
        found = {}
        for number, line in enumerate(lines, 1):
            if not line.strip() or line.startswith("#"):
                continue
            user, hashed = _parsed(line)
            if hashed is None:
                raise SettingError(
                    f"--sign-in file:{self._path}, line {number}: is no user; "
                    "mqframe dashboard-user NAME writes such lines"
                )
            found[user] = hashed
        if not found:
            raise SettingError(
                f"--sign-in file:{self._path}: names nobody; mqframe dashboard-user NAME writes a line"
            )
        return found

    async def fits(self, user: str, secret: str) -> bool:
        """Whether `user` may sign in with `secret`. An unknown name takes as long as a wrong secret."""
        known = self.read().get(user)
        async with self._turns:
            right = await asyncio.to_thread((known or _NOBODY).fits, secret)
        return right and known is not None


def user_line(user: str, secret: str) -> str:
    """The line of `user`. Raises `SettingError` for a name that no line can have, or no secret."""
    if not user.strip() or user.startswith("#") or ":" in user or len(user.splitlines()) != 1:
        raise SettingError(f"user {user!r}: must be a name, without colons and line ends")
    if not secret:
        raise SettingError(f"user {user}: the secret is empty")
    hashed = Hash.of(secret)
    return f"{user.strip()}:{_TITLE}:{_text(hashed.salt)}:{_text(hashed.digest)}"


def _parsed(line: str) -> tuple[str, Hash | None]:
    user, *rest = line.strip().split(":")
    if len(rest) != 3 or rest[0] != _TITLE:
        return user, None
    try:
        salt, digest = (b64decode(each, validate=True) for each in rest[1:])
    except binascii.Error:
        return user, None
    return user, Hash(salt, digest) if salt and len(digest) == _LENGTH else None


def _digest(secret: str, salt: bytes) -> bytes:
    raw = secret.encode("utf-8", "replace")
    return hashlib.scrypt(raw, salt=salt, n=COST, r=BLOCK, p=PARALLEL, maxmem=64 << 20, dklen=_LENGTH)


def _text(raw: bytes) -> str:
    return b64encode(raw).decode()
