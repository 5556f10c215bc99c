from collections.abc import Mapping
from enum import Enum
from pathlib import Path
from typing import Any, Literal

import pytest

from mqframe.core.config.field_types import convert, name_of


class Colour(Enum):
    RED = "red"
    BLUE = 2


@pytest.mark.parametrize(
    ("value", "kind", "wanted"),
    [
        ("true", bool, True),
        ("OFF", bool, False),
        (" 42 ", int, 42),
        (42, int, 42),
        ("1.5", float, 1.5),
        (2, float, 2.0),
        ("x", str, "x"),
        ("/tmp/x", Path, Path("/tmp/x")),
        ("a;b, c", tuple[str, ...], ("a", "b", "c")),
        (["1", 2], tuple[int, ...], (1, 2)),
        ("", tuple[str, ...], ()),
        ("a,a", frozenset[str], frozenset("a")),
        ("", int | None, None),
        ("none", Path | None, None),
        ("7", int | None, 7),
        ("", str | None, None),
        ("sync", Literal["sync", "async"], "sync"),
        ("2", Literal[1, 2], 2),
        ("red", Colour, Colour.RED),
        ("BLUE", Colour, Colour.BLUE),
        ({"a": "1"}, Mapping[str, int], {"a": 1}),
        (object, Any, object),
    ],
)
def test_converts(value: Any, kind: Any, wanted: Any) -> None:
    got = convert(value, kind)
    assert got == wanted
    assert type(got) is type(wanted)


@pytest.mark.parametrize(
    ("value", "kind", "message"),
    [
        ("maybe", bool, "true or false"),
        (1, bool, "true or false"),
        ("1.5", int, "whole number"),
        (True, int, "whole number"),
        ("٣", int, "whole number"),
        ("٣.٥", float, "a number"),
        (1.5, int, "whole number"),
        ("x", float, "number"),
        (1, str, "text"),
        ("", Path, "path"),
        (1, tuple[str, ...], "list"),
        ([1], tuple[str, ...], "text"),
        ("x", int | None, "int or none"),
        ("x", Literal["a", "b"], "one of a, b"),
        ("green", Colour, "one of red, 2"),
        (1, Mapping[str, int], "table"),
        (1, Exception, "Exception"),
    ],
)
def test_says_what_was_expected(value: Any, kind: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        convert(value, kind)


def test_names_are_for_people() -> None:
    assert name_of(tuple[str, ...]) == "tuple of str"
    assert name_of(Mapping[str, int]) == "Mapping of str to int"
    assert name_of(int | None) == "int or none"
