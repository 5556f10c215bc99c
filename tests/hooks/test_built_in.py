"""What the kernel brings by itself is named like plugins, and is not imported before it is chosen."""

from __future__ import annotations

import subprocess
import sys

from mqframe.hooks.built_in import DISTRIBUTION, entry_points
from mqframe.hooks.kinds import KINDS


def test_every_entry_point_is_of_a_known_kind_and_its_module_registers_the_name() -> None:
    found = entry_points()
    assert len({entry.name for entry in found}) == len(found)
    for entry in found:
        kind, _, name = entry.name.partition(".")
        factories = getattr(entry.load(), KINDS[kind].hook)()
        assert name in factories, entry
        assert entry.group == DISTRIBUTION


def test_names_are_known_without_importing_what_they_stand_for() -> None:
    code = (
        "import sys; from mqframe.hooks.built_in import entry_points; entry_points();"
        "print(sorted(name for name in sys.modules if name.startswith(('mqframe_cli', 'mqframe.broker'))))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
