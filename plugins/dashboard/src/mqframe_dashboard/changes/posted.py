"""Forms that browsers post: from pages of this dashboard alone, of bounded length."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Final
from urllib.parse import parse_qs

from starlette.requests import Request

from mqframe_dashboard.changes.rejection import Rejection
from mqframe_dashboard.query import BadQuery, Query

BODY_BYTES_MAX: Final = 256 << 10
FIELDS_MAX: Final = 2000
_TYPE: Final = "application/x-www-form-urlencoded"


class Values(Query):
    """The values of a form, or of a query string, by name; check boxes may have several."""

    def __init__(self, values: Mapping[str, Sequence[str]]) -> None:
        super().__init__({name: each[-1] for name, each in values.items()})
        self._all = values

    def each(self, name: str) -> list[str]:
        """All values that are not empty."""
        return [value for value in self._all.get(name, ()) if value]

    def long_text(self, name: str, most: int) -> str:
        """A text of several lines as it was typed, with the ends of lines of Unix. Raises `BadQuery`."""
        found = (self._all.get(name) or [""])[-1].replace("\r\n", "\n")
        if len(found) > most:
            raise BadQuery(f"{name}: {len(found)} characters are too many; at most {most}")
        return found

    def ticked(self, name: str) -> bool:
        """Whether a check box is."""
        return bool(self.text(name))

    def number(self, name: str, least: int, most: int) -> int:
        """A number that has to be there. Raises `BadQuery`."""
        text = self.needed(name)
        if not re.fullmatch("-?[0-9]{1,18}", text) or not least <= int(text) <= most:
            raise BadQuery(f"{name}: {text!r} must be a number from {least} to {most}")
        return int(text)


async def read_form(request: Request) -> Values:
    """The form in `request`. Raises `Rejection` for one from elsewhere, too long a one, or something else."""
    check_origin(request)
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() != _TYPE:
        raise Rejection(415, "This is no form", f"only {_TYPE} is read")
    body = bytearray()
    async for part in request.stream():
        body += part
        if len(body) > BODY_BYTES_MAX:
            raise Rejection(413, "This form is too long", f"at most {BODY_BYTES_MAX} bytes are read")
    try:
        text = body.decode("ascii")
        found = parse_qs(text, keep_blank_values=True, max_num_fields=FIELDS_MAX, errors="replace")
    except ValueError:
        raise Rejection(400, "This form makes no sense", "it cannot be decoded") from None
    return Values(found)


def check_origin(request: Request) -> None:
    """Raise `Rejection` unless a page of this dashboard sends `request`, as the browser says."""
    origin = request.headers.get("origin", "")
    place = origin.partition("://")[2].lower()
    if not place or place != request.headers.get("host", "").lower():
        raise Rejection(
            403,
            "This form comes from elsewhere",
            f"its origin is {origin or 'not told'}, and this dashboard was asked as "
            f"{request.headers.get('host', '')}; a proxy has to hand the Host header on as it is",
        )
