"""What slaves keep of services, as the manager finds it."""

from __future__ import annotations

from typing import Any

import pytest

from mqframe.core.errors import PluginError
from mqframe.hooks.interfaces import BrokerService, SlaveCopies
from mqframe.hooks.manager import PluginManager
from mqframe.hooks.specs import hookimpl


class Kept(SlaveCopies):
    def __init__(self, port: Any) -> None:
        self.port = port


class Greeter(BrokerService):
    SlaveCopies = Kept


class Plain(BrokerService):
    """Slaves keep nothing of it."""


class Broken(BrokerService):
    SlaveCopies = int


class Plugin:
    @hookimpl
    def register_broker_services(self) -> dict[str, Any]:
        return {"greeter": Greeter, "plain": Plain, "broken": Broken}


@pytest.fixture
def plugins() -> PluginManager:
    found = PluginManager(list)
    found.register(Plugin())
    return found


def test_those_of_services_that_are_installed_are_made(plugins: PluginManager) -> None:
    port: Any = object()
    (made,) = plugins.slave_copies(("plain", "absent", "greeter"), port)
    assert isinstance(made, Kept)
    assert made.port is port


def test_what_is_no_such_class_is_refused(plugins: PluginManager) -> None:
    port: Any = object()
    with pytest.raises(PluginError, match="broken: SlaveCopies must be a class that inherits SlaveCopies"):
        plugins.slave_copies(("broken",), port)


def test_by_default_nothing_is_kept() -> None:
    port: Any = object()
    assert (SlaveCopies(port).tables(), SlaveCopies(port).files()) == ((), ())
