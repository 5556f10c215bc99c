"""How calls are signed: `MQv2-HMAC-SHA1`, over nothing but the text of the time.

    authorization: MQv2-HMAC-SHA1 Credential=key/…, SignedHeaders=x-mq-date-time, Signature=0A1B…

Source: DefaultAuthenticationContextBuilder.java; Signature.java and signature.py of the clients.
"""

from __future__ import annotations

import re
from calendar import timegm
from collections.abc import Mapping
from datetime import datetime
from typing import Final, NamedTuple

from mqframe_grpc.proto import messages as m
from mqframe_grpc.rules.codes import Rejected

AUTHORIZATION: Final = "authorization"
DATE_TIME: Final = "x-mq-date-time"

_TIME: Final = re.compile(r"(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z", re.ASCII).fullmatch


class Signature(NamedTuple):
    """Who says to have signed a call.

    `access_key`: the user; `content`: the bytes that were signed; `signature`: the HMAC-SHA1 of them under
    the user's secret, if it is true; `signed_at_ms`: the time in the content, ms since 1970, `None` where it
    cannot be read. Java and Python write their local time there.
    """

    access_key: str
    content: bytes
    signature: bytes
    signed_at_ms: int | None


def signature_of(metadata: Mapping[str, str]) -> Signature | None:
    """The signature in the headers of a call, whose names are in lower case.

    `None` where nobody signed: without the header, and with an empty key, which Python's client sends when it
    has none. Raises `Rejected` (UNAUTHORIZED) for a header that cannot be read.
    """
    text = metadata.get(AUTHORIZATION, "").strip()
    if not text:
        return None
    if not text.isascii():
        raise _refused("holds other characters than ASCII")
    fields: dict[str, str] = {}
    for piece in text.partition(" ")[2].split(","):
        name, equals, value = piece.strip().partition("=")
        if not equals or name in fields:
            raise _refused("is not a list of different fields, each a name, = and a value")
        fields[name] = value.strip()
    access_key = _field(fields, "Credential").partition("/")[0].strip()
    if not access_key:
        return None
    signed_at = metadata.get(DATE_TIME, "")
    if not signed_at or not signed_at.isascii():
        raise Rejected(m.Code.UNAUTHORIZED, f"header {DATE_TIME}, which is signed, is missing or no time")
    try:
        signature = bytes.fromhex(_field(fields, "Signature"))
    except ValueError:
        raise _refused("has a signature that is not hexadecimal") from None
    if not signature:
        raise _refused("has an empty signature")
    return Signature(access_key, signed_at.encode(), signature, _moment_ms(signed_at))


def check_age(signature: Signature, now_ms: int, age_max_ms: int) -> None:
    """Raise `Rejected` (UNAUTHORIZED) for what was signed longer than `age_max_ms` before or after `now_ms`.

    Only the time is signed: without this whoever has seen one call can make any other, for ever.
    """
    signed_at = signature.signed_at_ms
    if signed_at is None:
        raise Rejected(
            m.Code.UNAUTHORIZED, f"header {DATE_TIME} is no time: write yyyyMMdd'T'HHmmss'Z', in UTC"
        )
    away = abs(now_ms - signed_at)
    if away > age_max_ms:
        raise Rejected(
            m.Code.UNAUTHORIZED,
            f"signature was made {away // 1000} s from now, {age_max_ms // 1000} s are allowed; set the"
            " clocks, and let the client write UTC",
        )


def _field(fields: Mapping[str, str], name: str) -> str:
    value = fields.get(name)
    if value is None:
        raise _refused(f"has no {name}")
    return value


def _moment_ms(text: str) -> int | None:
    found = _TIME(text)
    if found is None:
        return None
    year, month, day, hour, minute, second = map(int, found.groups())
    try:
        return timegm(datetime(year, month, day, hour, minute, second).timetuple()) * 1000
    except ValueError:
        return None


def _refused(why: str) -> Rejected:
    return Rejected(
        m.Code.UNAUTHORIZED,
        f"header {AUTHORIZATION} {why}; write MQv2-HMAC-SHA1 Credential=key, SignedHeaders={DATE_TIME},"
        " Signature=hexadecimal digits",
    )
