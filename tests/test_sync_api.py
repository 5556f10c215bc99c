"""The asyncio and the sync API of the clients: the same names, parameters, defaults, types and contracts."""

from __future__ import annotations

import inspect
import re
from typing import Any, get_type_hints

import pytest

import mqframe

PAIRS = [name for name in mqframe.__all__ if f"Async{name}" in mqframe.__all__]
SUBJECTS = [f"Admin.{word}" for word in get_type_hints(mqframe.AsyncAdmin) if not word.startswith("_")]
"""What an administrator holds, each with a class of its own."""
OF_A_LOOP = {"instance", "clock", "randomness"}
"""Parameters of constructors that only a client of one's own loop can have."""


def pair(name: str) -> tuple[type, type]:
    name, _, subject = name.partition(".")
    there, here = getattr(mqframe, f"Async{name}"), getattr(mqframe, name)
    return (get_type_hints(there)[subject], get_type_hints(here)[subject]) if subject else (there, here)


def public(cls: type) -> set[str]:
    found = {name for name in dir(cls) if not name.startswith("_")}
    noted = {name for each in cls.__mro__ for name in vars(each).get("__annotations__", {})}
    return found | {name for name in noted if not name.startswith("_")}


def shape(method: Any, left_out: frozenset[str] = frozenset()) -> list[tuple[str, Any, Any, str]]:
    """Name, kind, default and type of each parameter, and the type of the result."""
    signature = inspect.signature(method)
    found = [
        (each.name, each.kind, each.default, sync_words(str(each.annotation)))
        for each in signature.parameters.values()
        if each.name not in left_out
    ]
    return [*found, ("return", None, None, sync_words(str(signature.return_annotation)))]


def sync_words(text: str) -> str:
    """What a text about the asyncio class says about the sync one."""
    text = "\n\n".join(each for each in text.split("\n\n") if not each.startswith("Only here"))
    for old, new in (
        (r"\basync (with|for)\b", r"\1"),
        (r"\bawait ", ""),
        (r"\b([Aa])n `Async", r"\1 `"),
        (r"\bAsyncGenerator\[(.+), None\]", r"Iterator[\1]"),
        (r"\bAsync([A-Z])", r"\1"),
        (r"\basyncio\.Future\b", "Future"),
        (r"\ban `with`", "a `with`"),
    ):
        text = re.sub(old, new, text)
    return text


def test_every_client_has_both() -> None:
    asyncio_ones = {name for name in mqframe.__all__ if name.startswith("Async")}
    assert asyncio_ones == {f"Async{name}" for name in PAIRS}
    assert {"Admin", "Producer", "PushConsumer", "LitePullConsumer", "SimpleConsumer", "Puller"} <= set(PAIRS)


@pytest.mark.parametrize("name", PAIRS + SUBJECTS)
def test_public_names_are_the_same(name: str) -> None:
    there, here = pair(name)
    assert public(here) == public(there)


@pytest.mark.parametrize("name", PAIRS)
def test_constructors_are_the_same(name: str) -> None:
    there, here = pair(name)
    assert shape(here.__init__) == shape(there.__init__, frozenset(OF_A_LOOP))


def test_an_administrator_holds_subjects_and_nothing_else() -> None:
    words = {name.removeprefix("Admin.") for name in SUBJECTS}
    assert {"topics", "groups", "offsets", "messages", "dead_letters", "cluster", "replicas"} <= words
    assert public(mqframe.Admin) == words | {"start", "stop", "from_config"}
    for name in SUBJECTS:
        there, here = pair(name)
        assert there.__bases__ == (object,), name
        assert there.__name__ == f"Async{here.__name__}", name
        assert public(there), name


@pytest.mark.parametrize("name", PAIRS + SUBJECTS)
def test_methods_are_the_same(name: str) -> None:
    there, here = pair(name)
    for word in sorted(public(there)):
        one, other = inspect.getattr_static(there, word, None), inspect.getattr_static(here, word, None)
        if inspect.isfunction(one):
            assert inspect.isfunction(other), word
            assert shape(other) == shape(one), word
            assert not inspect.iscoroutinefunction(other), word
            assert other.__doc__, word
            said, meant = inspect.getdoc(other) or "", sync_words(inspect.getdoc(one) or "")
            assert said.split("\n\n")[0] == meant.split("\n\n")[0], word


@pytest.mark.parametrize("name", PAIRS)
def test_both_are_context_managers_unless_they_are_something_else(name: str) -> None:
    there, here = pair(name)
    assert hasattr(there, "__aenter__") == hasattr(here, "__enter__")
