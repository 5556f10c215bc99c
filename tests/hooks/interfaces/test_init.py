"""The interfaces by name: each is imported when it is first used, and type checkers see the same."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

from mqframe.hooks import interfaces


def seen() -> dict[str, str]:
    """Where type checkers find each name."""
    tree = ast.parse(Path(interfaces.__file__).read_text())
    return {
        alias.name: str(node.module)
        for block in tree.body
        if isinstance(block, ast.If)
        for node in block.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }


def test_what_type_checkers_see_is_what_there_is() -> None:
    assert sorted(seen()) == interfaces.__all__ == dir(interfaces)
    for name, module in seen().items():
        __import__(module)
        assert getattr(sys.modules[module], name) is getattr(interfaces, name)


def test_every_file_of_the_folder_is_among_them() -> None:
    files = {path.stem for path in Path(interfaces.__file__).parent.glob("*.py")} - {"__init__"}
    assert {f"{interfaces.__name__}.{file}" for file in files} <= set(seen().values())


def test_a_name_that_does_not_exist_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="NoSuchThing"):
        interfaces.NoSuchThing  # noqa: B018


def test_interfaces_are_imported_when_they_are_used() -> None:
    code = (
        "import sys\nfrom mqframe.hooks.interfaces import QueueSelector\n"
        "print([m for m in sys.modules if m.startswith('mqframe.hooks.interfaces.')])"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "['mqframe.hooks.interfaces.selector']"
