"""The package's front door."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import mqframe


@pytest.mark.parametrize("name", [name for name in mqframe.__all__ if name != "__version__"])
def test_every_public_name_can_be_had_and_is_documented(name: str) -> None:
    found = getattr(mqframe, name)
    assert found.__doc__ or name in (
        "hookimpl",
        "BatchListener",
        "Handler",
        "TypedHandler",
    )  # aliases of types have none
    assert getattr(mqframe, name) is found


def test_what_type_checkers_see_is_what_there_is() -> None:
    tree = ast.parse(Path(mqframe.__file__).read_text())
    seen = {
        alias.name: node.module
        for block in tree.body
        if isinstance(block, ast.If)
        for node in block.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    assert sorted([*seen, "__version__"]) == sorted(mqframe.__all__)
    for name, module in seen.items():
        __import__(module)
        assert getattr(sys.modules[module], name) is getattr(mqframe, name)


def test_a_name_that_does_not_exist_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="NoSuchThing"):
        mqframe.NoSuchThing  # noqa: B018


def test_importing_the_package_imports_nothing_else() -> None:
    code = "import sys, mqframe; print([m for m in sys.modules if m.startswith(('mqframe.', 'asyncio'))])"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "[]"


def test_dir_lists_the_public_names() -> None:
    assert dir(mqframe) == sorted(mqframe.__all__)
