"""Sections of a configuration hold what constructors take."""

from __future__ import annotations

import inspect

import attrs
import pytest

import mqframe
from mqframe.client.configuration.sections import KINDS, client_kinds

CLIENTS = [name for name in mqframe.__all__ if hasattr(getattr(mqframe, name), "from_config")]


def test_all_kinds_of_clients_have_a_section() -> None:
    assert {getattr(mqframe, name)._section for name in CLIENTS} == set(client_kinds())
    assert client_kinds().keys() > KINDS.keys()
    assert {name.removeprefix("Async") for name in CLIENTS} >= {"Producer", "PushConsumer", "Admin", "Puller"}


@pytest.mark.parametrize("name", CLIENTS)
def test_what_a_section_holds_is_what_the_constructor_takes(name: str) -> None:
    cls = getattr(mqframe, name)
    kind = client_kinds()[cls._section]
    parameters = inspect.signature(cls).parameters
    if any(each.kind is inspect.Parameter.VAR_KEYWORD for each in parameters.values()):
        parameters = inspect.signature(mqframe.Producer).parameters  # they are handed on to it
    defaults = {field.name: field.default for field in attrs.fields(kind.section)}
    for argument in kind.arguments:
        assert argument in parameters
        by_itself = parameters[argument].default
        if by_itself is not inspect.Parameter.empty and by_itself not in (None, ()):
            assert defaults[argument] == by_itself
