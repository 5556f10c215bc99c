"""What the kernel brings by itself is named like plugins, and is not imported before it is chosen."""

from __future__ import annotations

import subprocess
import sys

import pytest

from mqframe.hooks.built_in import BUILT_IN, DISTRIBUTION
from mqframe.hooks.kinds import KINDS
from mqframe.hooks.manager import PluginManager


@pytest.mark.parametrize(("kind", "name"), BUILT_IN)
def test_each_is_of_a_known_kind_and_leads_to_what_implements_it(kind: str, name: str) -> None:
    interface = KINDS[kind].interface
    module, _, attribute = BUILT_IN[kind, name].partition(":")
    made = getattr(__import__(module, fromlist=[attribute]), attribute)
    assert interface is not None
    assert issubclass(made, interface)


def test_lists_of_plugins_have_them_as_of_this_distribution() -> None:
    own = {
        (each.kind, each.name) for each in PluginManager().installed() if each.distribution == DISTRIBUTION
    }
    assert own == BUILT_IN.keys()


def test_names_are_known_without_importing_what_they_stand_for() -> None:
    code = (
        "import sys; from mqframe.hooks.manager import PluginManager; PluginManager().names('codec');"
        "print(sorted(name for name in sys.modules if name.startswith(('mqframe_cli', 'mqframe.broker'))))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
