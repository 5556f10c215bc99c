"""Namespaces of clients: `client.namespace` puts names into one; the RPC hook `namespace_v2` tells it."""

from __future__ import annotations

from mqframe.hooks.specs import Factories, hookimpl
from mqframe_namespaces.header import NamespaceHeader, NamespaceHeaderOptions
from mqframe_namespaces.wrapping import NamespaceHook

__all__ = ["NamespaceHeader", "NamespaceHeaderOptions", "NamespaceHook", "register_rpc_hooks"]


@hookimpl
def register_rpc_hooks() -> Factories:
    """The hook of clients whose brokers, or what is before them, know of namespaces."""
    return {"namespace_v2": NamespaceHeader}
