"""What services put back where a log is cut: nothing by default; found by factories that are installed."""

from __future__ import annotations

import pytest
from stopped_store import StoppedStoreOnPaper, cut_record, shown

from mqframe.core.errors import PluginError
from mqframe.hooks.interfaces import BrokerService, CutBack, OffsetPlace
from mqframe.hooks.manager import PluginManager
from mqframe.hooks.specs import hookimpl


class Kept(CutBack):
    """Of a service."""


class Keeping(BrokerService):
    """A service that keeps something."""

    CutBack = Kept


class Plugin:
    """Registers services: one that keeps something, one that does not."""

    @hookimpl
    def register_broker_services(self) -> dict[str, object]:
        return {"keeping": Keeping, "plain": BrokerService}


def test_by_default_all_stays() -> None:
    cut, store = CutBack(), StoppedStoreOnPaper()
    shown(cut, [(cut_record("t"), b"body")])
    assert cut.offset(OffsetPlace("t", "g", 0), 7, store) == 7
    assert cut.files(store) == ()


def test_each_installed_service_is_asked_for_one_made_anew() -> None:
    plugins = PluginManager(list)
    before = len(plugins.cut_backs())
    plugins.register(Plugin(), "keepers")
    found, again = plugins.cut_backs(), plugins.cut_backs()
    assert [type(each).__name__ for each in found].count("Kept") == 1
    assert len(found) == before + 1
    assert not set(map(id, found)) & set(map(id, again))


def test_a_service_that_cannot_be_loaded_is_named() -> None:
    class Broken:
        @hookimpl
        def register_broker_services(self) -> dict[str, object]:
            return {"broken": "no_such_module:Service"}

    plugins = PluginManager(list)
    plugins.register(Broken(), "broken")
    with pytest.raises(PluginError, match="no_such_module"):
        plugins.cut_backs()
