"""The RPC hook `namespace_v2`: says in each request to which namespace it belongs, and changes no name."""

from __future__ import annotations

from typing import Final

from mqframe.core.config.settings import setting, settings
from mqframe.core.wire.frame import Frame
from mqframe.hooks.interfaces import RpcHook

NAMESPACED: Final = "nsd"
NAMESPACE: Final = "ns"
"""Header fields of every request (MixAll.java)."""


@settings("plugins.namespace_v2")
class NamespaceHeaderOptions:
    """Which namespace."""

    namespace: str = setting(
        doc="what the header field `ns` says", check=lambda value: None if value.strip() else "is empty"
    )


class NamespaceHeader(RpcHook):
    """Adds the two fields that Java's `setNamespaceV2` adds (source: NamespaceRpcHook.java).

    To be chosen before hooks that sign, as what they sign includes the fields.
    """

    name = "namespace_v2"
    Options = NamespaceHeaderOptions

    def __init__(self, options: NamespaceHeaderOptions) -> None:
        self._fields = {NAMESPACED: "true", NAMESPACE: options.namespace.strip()}

    def before(self, address: str, request: Frame) -> None:
        """Add the fields."""
        request.ext = {**(request.ext or {}), **self._fields}
