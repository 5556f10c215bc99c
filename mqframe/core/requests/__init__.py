"""All request kinds, one class each, and the table of them by code.

`REQUESTS`, the table, has them all: they are imported when it is first asked for. Who sends a few kinds
imports only their files.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

from mqframe.core.requests.fields import Header as Header
from mqframe.core.requests.fields import NoHeader as NoHeader
from mqframe.core.requests.fields import Request as Request
from mqframe.core.requests.fields import decode_fields as decode_fields
from mqframe.core.requests.fields import encode_fields as encode_fields

if TYPE_CHECKING:
    from mqframe.core.requests.fields import REQUESTS as REQUESTS

KINDS: Final = ("admin", "consumers", "election", "insight", "messages", "nameserver", "replies", "roles")
"""The files of this folder that hold request kinds."""


def __getattr__(name: str) -> Any:
    if name != "REQUESTS":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    for kinds in KINDS:
        import_module(f"{__name__}.{kinds}")
    table = globals()[name] = import_module(f"{__name__}.fields").REQUESTS
    return table
