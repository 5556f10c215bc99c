"""The header fields by which a namespace is told, and nothing renamed."""

from __future__ import annotations

import pytest
from mqframe_namespaces import NamespaceHeader, NamespaceHeaderOptions
from mqframe_testing.conformance import RpcHookConformance

from mqframe.core.errors import SettingError
from mqframe.core.wire.frame import Frame
from mqframe.hooks.manager import PluginManager


class TestConformance(RpcHookConformance):
    def make(self) -> NamespaceHeader:
        return NamespaceHeader(NamespaceHeaderOptions(namespace="shop"))


def test_each_request_says_it() -> None:
    [hook] = PluginManager().create_all("rpc_hook", [("namespace_v2", {"namespace": " shop "})])
    for ext in (None, {}, {"topic": "orders"}):
        request = Frame(105, 1, ext=ext)
        hook.before("127.0.0.1:9876", request)
        assert request.ext == {**(ext or {}), "nsd": "true", "ns": "shop"}


def test_an_empty_one_is_refused() -> None:
    with pytest.raises(SettingError, match=r"namespace.*is empty"):
        PluginManager().create_all("rpc_hook", [("namespace_v2", {"namespace": " "})])
