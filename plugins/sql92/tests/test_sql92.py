"""Expressions against what the reference computed, and against a simple model."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from mqframe_sql92 import EvaluationError, Expression, SqlFilter
from mqframe_sql92.values import Kind, compare_numbers, double, whole

from mqframe.core.errors import FixError
from mqframe.hooks.manager import default_manager
from mqframe.testing.conformance import MessageFilterConformance

REFERENCE = json.loads((Path(__file__).parent / "sql92.json").read_text())


def value(expression: str, properties: dict[str, str]) -> object:
    try:
        return Expression(expression).evaluate(properties)
    except EvaluationError:
        return "error"


class TestConformance(MessageFilterConformance):
    def make(self):
        return SqlFilter()

    def examples(self):
        return [
            ("a > 5 AND b = 'x'", {"a": "6", "b": "x"}, True),
            ("a > 5 AND b = 'x'", {"a": "6", "b": "y"}, False),
            ("b = '订单'", {"b": "订单"}, True),
        ]

    def unknown(self):
        return ["a > 5", "a = 'x'", "NOT a", "a NOT BETWEEN 1 AND 2", "a NOT IN ('x')"]

    def broken(self):
        return ["", "a >", "a = 'x", "(a = 5", "a ? 5"]


def test_it_is_found_by_its_name():
    assert isinstance(default_manager().create("message_filter", "SQL92"), SqlFilter)


@pytest.mark.parametrize("case", REFERENCE["cases"], ids=lambda case: case["expression"])
def test_the_reference_agrees(case):
    if not case["compiles"]:
        with pytest.raises(FixError, match=r"SQL92 expression, character \d+: "):
            Expression(case["expression"])
        return
    found = [value(case["expression"], properties) for properties in REFERENCE["properties"]]
    assert found == case["results"]
    matches = SqlFilter().compile(case["expression"])
    assert [matches(p) for p in REFERENCE["properties"]] == [r is True for r in case["results"]]


@pytest.mark.parametrize(
    ("expression", "at", "problem"),
    [
        ("", 1, "found the end"),
        ("a > 5 AND", 10, "found the end"),
        ("a > 1 AND (b = 'x' OR )", 23, "found ')'"),
        ("  a = ! 5", 7, "'!' begins no word"),
        ("a != 5", 3, "unequal is <>"),
        ("a = 'x", 5, "its closing quote is missing"),
        ('a = "x"', 5, "text stands in single quotes"),
        ("a > 5 && b = 'x'", 7, "write AND or OR"),
        ("a = NULL", 5, "write IS NULL"),
        ("a > 'x'", 5, "only numbers and properties can be compared by >"),
        ("a IN (5)", 7, "expected text, found '5'"),
        ("5 IN ('x')", 1, "only a property can be IN a list"),
        ("a BETWEEN 5 AND 1", 11, "the lower bound 5 is above 1"),
        ("a BETWEEN 9007199254740993 AND 9007199254740992", 11, "lower bound"),
        ("a NOT NULL", 7, "behind NOT, found 'NULL'"),
        ("b = 'x' AND 5", 13, "neither true nor false"),
        ("TRUE = 5", 8, "cannot be compared"),
        ("a > 9223372036854775808", 5, "does not fit 64 bits"),
        ("a > " + "9" * 5000, 5, "does not fit 64 bits"),
        ("a > 0.0", 5, "too small"),
        ("a > 1e999", 5, "too large"),
        ("a = /* never ends", 5, "'/' begins no word"),
        ("NOT " * 60 + "a", 201, "more than 50"),
        ("(" * 60 + "a = 5", 51, "more than 50"),
        ("a" + " = 'x'" * 300, 1, "more than 200 parts"),
    ],
)
def test_what_is_wrong_and_where(expression, at, problem):
    with pytest.raises(FixError) as caught:
        Expression(expression)
    assert str(caught.value).startswith(f"SQL92 expression, character {at}: ")
    assert problem in str(caught.value)


def test_long_chains_are_no_deep_ones():
    text = " OR ".join(f"a = {n}" for n in range(2000))
    assert value(text, {"a": "1999"}) is True
    assert value(text.replace("OR", "AND"), {"a": "1"}) is False


@pytest.mark.parametrize(
    ("expression", "properties", "result"),
    [
        # What follows the first word that cannot go on is not looked at.
        ("a = 5 b nonsense", {"a": "5"}, True),
        ("a = 5 )", {"a": "5"}, True),
        ("n = 007", {"n": "0"}, True),
        # Comments and blanks.
        ("a -- to the end of the line\n = 5", {"a": "5"}, True),
        ("a\t=\f\r\n5 /* *** / */ AND b = 'x'", {"a": "5", "b": "x"}, True),
        # Keywords in any case, names by case.
        ("a between 1 and 5 Or FALSE", {"a": "3"}, True),
        ("A = 5", {"a": "5"}, None),
        # An unknown left side is unknown, an unknown right side is unequal.
        ("'x' = a", {}, False),
        ("a = 'x'", {}, None),
        ("5 <> a", {}, True),
        # Conditions beside text and numbers.
        ("(a > 5) = TRUE", {"a": "6"}, True),
        ("(a > 5) = b", {"a": "6", "b": "true"}, "error"),
        ("b = (a > 5)", {"a": "6", "b": "TRUE"}, True),
        ("TRUE = a", {"a": "true"}, "error"),
        ("5 = TRUE", {}, False),
        # Numbers by the type of the one that is written.
        ("a > 5", {"a": "2147483648"}, "error"),
        ("a > 2147483648", {"a": "2147483649"}, True),
        ("a < -2147483647", {"a": "-2147483648"}, True),
        ("a = 5", {"a": "+5"}, True),
        ("a = 5", {"a": "٥"}, True),
        ("a = 5", {"a": "𝟝"}, "error"),
        ("a = 5", {"a": " 5"}, "error"),
        ("a = 5", {"a": "5_0"}, "error"),
        ("a = 5", {"a": "0" * 5000 + "5"}, True),
        ("a = -5", {"a": "-" + "0" * 5000 + "5"}, True),
        ("a = 5", {"a": "9" * 5000}, "error"),
        ("a > 2.5", {"a": " 3d "}, True),
        ("a > 2.5", {"a": "0x1p4"}, True),
        ("a < -2.5", {"a": "-0x1p4000"}, True),
        ("a > 2.5", {"a": "NaN"}, True),
        ("a > 2.5", {"a": "nan"}, "error"),
        ("a > 2.5", {"a": "1_0"}, "error"),
        ("a < b", {"a": "-0.0", "b": "0.0"}, True),
        ("a <= b", {"a": "9", "b": "10"}, True),
        ("9007199254740993 > 9007199254740992.0", {}, False),
        ("9007199254740993 = 9007199254740992.0", {}, True),
        ("5 >= a", {"a": "5"}, True),
        ("2.5 < a", {"a": "3"}, True),
        # Signs.
        ("a = - - 5", {"a": "5"}, True),
        ("a = -+5", {"a": "-5"}, True),
        ("-a = 5", {"a": "-5"}, None),
        ("-a < 5", {"a": "1"}, None),
        ("-(a > 5) = 5", {"a": "x"}, "error"),
        ("a BETWEEN -1 AND -5", {"a": "-3"}, False),
        # Searches.
        ("a CONTAINS ''", {"a": "x"}, False),
        ("a NOT CONTAINS ''", {"a": "x"}, False),
        ("a NOT ENDSWITH 'y'", {}, False),
        ("5 CONTAINS '5'", {}, False),
        ("'abc' CONTAINS 'b'", {}, True),
        ("a CONTAINS 'x' = TRUE", {"a": "xyz"}, True),
        ("a IS NULL IS NOT NULL", {}, True),
        # Three values, and the order in which parts are looked at.
        ("FALSE AND a > 5", {"a": "x"}, False),
        ("a > 5 AND FALSE", {"a": "x"}, "error"),
        ("TRUE OR a > 5", {"a": "x"}, True),
        ("z AND FALSE", {}, False),
        ("z OR TRUE", {}, True),
        ("z AND TRUE", {}, None),
        ("z OR FALSE", {}, None),
        ("NULL OR NULL AND FALSE", {}, None),
    ],
)
def test_details(expression, properties, result):
    assert value(expression, properties) is result or value(expression, properties) == result == "error"


def test_numbers_are_ordered_as_java_does():
    nan, inf = float("nan"), float("inf")
    ordered = [-inf, -1.0, -0.0, 0.0, 1.0, inf, nan]
    for i, one in enumerate(ordered):
        for k, other in enumerate(ordered):
            assert (compare_numbers(one, other) > 0) == (i > k)
            assert (compare_numbers(one, other) < 0) == (i < k)


@pytest.mark.parametrize("text", ["", "+", "-", "5.0", "1e3", "0x5", "五"])
def test_no_whole_numbers(text):
    with pytest.raises(EvaluationError):
        whole(text, Kind.LONG)


@pytest.mark.parametrize("text", ["", ".", "e5", "1e", "inf", "NaNd", "0x1", "1__0", "٥"])
def test_no_doubles(text):
    with pytest.raises(EvaluationError):
        double(text)
