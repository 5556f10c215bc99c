"""What a conformance suite finds fault with."""

from __future__ import annotations

import inspect

import pytest


def caught_by(suite: type) -> list[str]:
    """The checks of `suite` that fail, by name; for suites whose checks need no fixtures."""
    found = []
    for name, check in inspect.getmembers(suite, inspect.isfunction):
        if not name.startswith("test_"):
            continue
        arguments = [each for each in inspect.signature(check).parameters if each != "self"]
        for values in ([True], [False]) if arguments else ([],):
            try:
                check(suite(), *values)
            except (Exception, pytest.fail.Exception):
                found.append(name)
                break
    return found
