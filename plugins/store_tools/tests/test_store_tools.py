"""The command that this distribution brings is found by its name."""

from __future__ import annotations

import subprocess
import sys

from command_runs import run

from mqframe.hooks.manager import PluginManager


def test_the_command_is_installed_with_this_distribution() -> None:
    found = [each for each in PluginManager().installed() if (each.kind, each.name) == ("command", "store")]
    assert [each.distribution for each in found] == ["mqframe-plugin-storetools"]
    assert "  check " in run("store", "--help")


def test_naming_it_imports_no_store() -> None:
    code = "import sys, mqframe_store_tools; print([m for m in sys.modules if m.startswith('mqframe.store')])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
