"""A web dashboard of a cluster, as an ASGI application and as the command `mqframe dashboard`."""

from mqframe_dashboard.app import create_app

__all__ = ["create_app"]
