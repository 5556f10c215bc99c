"""What is handed to plugins has the fields that its contract names."""

from __future__ import annotations

import re

import attrs
import pytest

from mqframe.hooks import interfaces

INTERFACES = [getattr(interfaces, name) for name in interfaces.__all__]
CONTEXTS = [each for each in INTERFACES if isinstance(each, type) and attrs.has(each)]
TERM = re.compile(r"((?:`\w+`, )*`\w+`):")
"""One or more names before a colon: what follows says what they mean."""


@pytest.mark.parametrize("context", CONTEXTS, ids=lambda each: each.__name__)
def test_every_field_that_a_docstring_explains_exists(context: type[attrs.AttrsInstance]) -> None:
    explained = {name for term in TERM.findall(context.__doc__ or "") for name in re.findall(r"\w+", term)}
    assert explained <= {field.name for field in attrs.fields(context)}


def test_contexts_of_offset_stores_are_among_them() -> None:
    assert interfaces.OffsetStoreContext in CONTEXTS
