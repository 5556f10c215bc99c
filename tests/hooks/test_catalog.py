"""What is behind a manager of plugins is imported when it is asked for something; its copies share it."""

from __future__ import annotations

import subprocess
import sys

import pytest

from mqframe.core.errors import PluginError
from mqframe.hooks.catalog import Catalog
from mqframe.hooks.interfaces import Plugins, QueueSelector
from mqframe.hooks.manager import PluginManager
from mqframe.hooks.specs import Factories, hookimpl


class First(QueueSelector):
    """The first queue; `plugins` is what made it."""

    def __init__(self, plugins: Plugins) -> None:
        self.plugins = plugins

    def select(self, queues, message, key):
        return queues[0]


class Brings:
    @hookimpl
    def register_queue_selectors(self) -> Factories:
        return {"first": First}


def test_a_manager_that_is_asked_for_nothing_looks_for_nothing() -> None:
    code = (
        "import sys\nfrom mqframe import PluginManager\n"
        "assert PluginManager().create_all('send_hook', ()) == ()\n"
        "print(sorted({'pluggy', 'importlib.metadata', 'mqframe.hooks.catalog'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_a_factory_is_handed_the_manager_that_was_asked() -> None:
    plain = PluginManager(list)
    plain.register(Brings())
    configured = plain.configured({})
    assert plain.create("selector", "first").plugins is plain
    assert configured.create("selector", "first").plugins is configured


def test_what_one_registers_or_blocks_holds_for_those_that_were_made_of_it() -> None:
    plain = PluginManager(list)
    configured = plain.configured({})
    plain.register(Brings())
    assert configured.names("selector") == ["first", "hash"]
    configured.block("selector.first")
    with pytest.raises(PluginError, match="selector 'first' is blocked"):
        plain.create("selector", "first")


def test_entry_points_are_looked_for_once() -> None:
    looks: list[int] = []

    def find():
        looks.append(1)
        return []

    catalog = Catalog(PluginManager(list), find)
    assert catalog.names("selector") == catalog.names("selector") == []
    assert looks == [1]
