"""A web dashboard of a cluster, as an ASGI application and as the command `mqframe dashboard`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mqframe_dashboard.app import create_app as create_app

__all__ = ["create_app"]


def __getattr__(name: str) -> Any:
    # Imported when it is used: the command line lists the command, and needs no web server for that.
    if name != "create_app":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from mqframe_dashboard.app import create_app

    return create_app
