"""Limits, lengths and patterns of JSON schemas: which are no narrower than others."""

from __future__ import annotations

from typing import Any

import pytest
from mqframe_schemas.rules.json_keywords import differing_arrays, differing_numbers, differing_strings


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ({}, {}, ""),
        ({"minimum": 3}, {"minimum": 3}, ""),
        ({"minimum": 3}, {"minimum": 2}, ""),
        ({"minimum": 3}, {"exclusiveMinimum": 2}, ""),
        ({"exclusiveMinimum": 3}, {"minimum": 3}, ""),
        ({"exclusiveMinimum": 3}, {"exclusiveMinimum": 3}, ""),
        ({"minimum": 3}, {"exclusiveMinimum": 3}, "it could be smaller before"),
        ({}, {"minimum": 3}, "it could be smaller before"),
        ({"minimum": 2}, {"minimum": 3}, "it could be smaller before"),
        ({"maximum": 3}, {"maximum": 4}, ""),
        ({"maximum": 3}, {"exclusiveMaximum": 3}, "it could be larger before"),
        ({"exclusiveMaximum": 3}, {"maximum": 3}, ""),
        ({"maximum": 5}, {"maximum": 4}, "it could be larger before"),
        ({"multipleOf": 6}, {"multipleOf": 3}, ""),
        ({"multipleOf": 0.5}, {"multipleOf": 0.5}, ""),
        ({"multipleOf": 2}, {"multipleOf": 3}, "it could be other before than a multiple of 3"),
        ({}, {"multipleOf": 1}, "it could be other before than a multiple of 1"),
    ],
)
def test_numbers(old: dict[str, Any], new: dict[str, Any], problem: str) -> None:
    found = [str(each) for each in differing_numbers(old, new, "$.n", whole=False)]
    assert found == ([f"$.n: {problem}"] if problem else [])


def test_integers_are_multiples_of_one() -> None:
    assert differing_numbers({}, {"multipleOf": 1}, "$", whole=True) == []


@pytest.mark.parametrize(
    ("old", "new", "count"),
    [
        ({}, {"minLength": 0}, 0),
        ({}, {"minLength": 1}, 1),
        ({"minLength": 2, "maxLength": 4}, {"minLength": 1, "maxLength": 4}, 0),
        ({"maxLength": 5}, {"maxLength": 4}, 1),
        ({"pattern": "a"}, {"pattern": "a"}, 0),
        ({"pattern": "a"}, {}, 0),
        ({}, {"pattern": "a", "maxLength": 4}, 2),
    ],
)
def test_texts(old: dict[str, Any], new: dict[str, Any], count: int) -> None:
    assert len(differing_strings(old, new, "$")) == count


@pytest.mark.parametrize(
    ("old", "new", "count"),
    [
        ({"uniqueItems": True}, {"uniqueItems": True}, 0),
        ({}, {"uniqueItems": True}, 1),
        ({}, {"uniqueItems": False}, 0),
        ({"minItems": 2, "maxItems": 3}, {"minItems": 3, "maxItems": 2}, 2),
    ],
)
def test_lists(old: dict[str, Any], new: dict[str, Any], count: int) -> None:
    assert len(differing_arrays(old, new, "$")) == count
