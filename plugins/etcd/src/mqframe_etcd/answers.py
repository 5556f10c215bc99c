"""What etcd answers where it does not do what it was asked: codes of gRPC in JSON."""

from __future__ import annotations

import json
from typing import Any, Final

from mqframe.core.errors import CoordinationError

NOT_FOUND: Final = 5
UNAUTHENTICATED: Final = 16
_DEFINITE: Final = frozenset({3, NOT_FOUND, 6, 7, 8, 9, 11, 12, UNAUTHENTICATED})
"""Codes that tell that nothing was done, now or later: refused before it was proposed to etcd's members, or
by each of them alike. After the others (such as 4 deadline exceeded, 14 unavailable) it may have been
done."""
_TEXT_MAX: Final = 200
_STALE: Final = ("invalid auth token", "revision of auth store is old")


class EtcdRefusal(CoordinationError):
    """A member of etcd answered with an error. `code`: that of gRPC; 0 where the answer is not etcd's."""

    def __init__(self, endpoint: str, code: int, message: str) -> None:
        super().__init__(f"etcd at {endpoint}: {message}", maybe_stored=code not in _DEFINITE)
        self.code = code
        self.stale = code == UNAUTHENTICATED or any(words in message for words in _STALE)
        """Whether to authenticate anew: the token is too old, or permissions changed since."""


def refusal(endpoint: str, status: int, body: bytes) -> EtcdRefusal:
    """The error for an answer with the HTTP `status`."""
    try:
        told = json.loads(body)
        code, message = int(told["code"]), str(told.get("message") or told.get("error"))
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        said = body[:_TEXT_MAX].decode(errors="replace").strip()
        hint = (
            "; is its gateway on (--enable-grpc-gateway), and its version 3.4 or later?"
            if status == 404
            else ""
        )
        return EtcdRefusal(endpoint, 0, f"answered {status} {said!r}{hint}")
    return EtcdRefusal(endpoint, code, message)


def result(endpoint: str, line: str | bytes) -> dict[str, Any]:
    """What one line of a stream holds. Raises `EtcdRefusal` for an error, and for what cannot be read."""
    try:
        message = json.loads(line)
        if "result" in message:
            return dict(message["result"])
        error = message["error"]
        code, words = int(error.get("code", error.get("grpc_code", 0))), str(error.get("message"))
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise EtcdRefusal(endpoint, 0, f"sent what cannot be read: {line[:_TEXT_MAX]!r}") from None
    raise EtcdRefusal(endpoint, code, words)
