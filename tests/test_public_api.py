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


LOADED = """
import sys, mqframe
{use}
for name, module in sorted(sys.modules.items()):
    if name.partition(".")[0] == "mqframe":
        print(name, module.__file__)
"""
PACKAGE_LINES_MAX = 300
PRODUCER_LINES_MAX = 15_000
"""Of source, comments and docstrings included: what a program waits for that only sends."""
NOT_FOR_PRODUCERS = (
    "broker cli client.consuming client.transactions metrics nameserver replication store"
    " testing net.access net.server net.tls hooks.catalog core.config.configuration"
).split()
"""What sending needs nothing of."""


def loaded(use: str) -> dict[str, int]:
    """The modules of mqframe that a process has loaded after `use`, and the lines of each."""
    code = LOADED.format(use=use)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    found = dict(line.split(" ", 1) for line in done.stdout.splitlines())
    return {name: len(Path(file).read_text("utf-8").splitlines()) for name, file in found.items()}


def test_the_package_alone_is_one_file() -> None:
    lines = loaded("")
    assert list(lines) == ["mqframe"]
    assert lines["mqframe"] <= PACKAGE_LINES_MAX


@pytest.mark.parametrize("use", ["mqframe.Producer", "mqframe.Producer('shop', nameserver='127.0.0.1:1')"])
def test_a_producer_loads_what_sending_needs_and_little_else(use: str) -> None:
    lines = loaded(use)
    loaded_in_vain = [
        name for name in lines for part in NOT_FOR_PRODUCERS if f"{name}.".startswith(f"mqframe.{part}.")
    ]
    assert loaded_in_vain == []
    largest = sorted(lines.items(), key=lambda item: -item[1])[:20]
    assert sum(lines.values()) <= PRODUCER_LINES_MAX, f"the largest of {len(lines)} files: {largest}"


def test_dir_lists_the_public_names() -> None:
    assert dir(mqframe) == sorted(mqframe.__all__)
