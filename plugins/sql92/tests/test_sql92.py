"""Expressions against what Apache RocketMQ computed, and against a simple model."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from mqframe_sql92 import EvaluationError, Expression, SqlFilter
from mqframe_testing.conformance import MessageFilterConformance

from mqframe.core.errors import FixError
from mqframe.hooks.manager import PluginManager

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
    assert isinstance(PluginManager().create("message_filter", "SQL92"), SqlFilter)


STRICTER = {
    "a LIKE 'x%'": "character 3: 'LIKE' stands behind a complete expression",
    "a + 1 > 5": "nothing is computed",
    "a-b > 1": "nothing is computed, and names of properties",
    "a = 0x1F": "'0x1F' is no number",
    "a = 1.5f": "'1.5f' is no number",
}
"""What Apache RocketMQ takes for another expression than the one that was written."""


@pytest.mark.parametrize("expression", STRICTER)
def test_what_is_not_read_to_its_end_by_the_reference_is_refused(expression: str) -> None:
    assert next(case["compiles"] for case in REFERENCE["cases"] if case["expression"] == expression)
    with pytest.raises(FixError, match=STRICTER[expression]):
        Expression(expression)


CASES = [case for case in REFERENCE["cases"] if case["expression"] not in STRICTER]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["expression"])
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
    ("expression", "properties", "result"),
    [
        # Comments and blanks.
        ("a -- to the end of the line\n = 5", {"a": "5"}, True),
        ("a\t=\f\r\n5 /* *** / */ AND b = 'x'", {"a": "5", "b": "x"}, True),
        # Keywords in any case, names by case.
        ("a between 1 and 5 Or FALSE", {"a": "3"}, True),
        ("A = 5", {"a": "5"}, None),
        ("a = 5 -- to the end", {"a": "5"}, True),
        # An unknown property is unknown on either side; of two the right one is unequal.
        ("'x' = a", {}, None),
        ("a = 'x'", {}, None),
        ("5 <> a", {}, None),
        ("a <> 5", {}, None),
        ("NOT (TRUE = a)", {}, None),
        ("a = b", {"a": "x"}, False),
        ("'x' = a", {"a": "x"}, True),
        ("5 = a", {"a": "+5"}, True),
        ("2.5 = a", {"a": "25e-1"}, True),
        # Conditions beside text and numbers.
        ("(a > 5) = TRUE", {"a": "6"}, True),
        ("(a > 5) = b", {"a": "6", "b": "true"}, True),
        ("(a > 5) <> b", {"a": "6", "b": "no"}, True),
        ("b = (a > 5)", {"a": "6", "b": "TRUE"}, True),
        ("TRUE = a", {"a": "true"}, True),
        ("TRUE = a", {"a": "no"}, False),
        ("FALSE <> a", {"a": "True"}, True),
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


@pytest.mark.parametrize(
    ("expression", "names"),
    [
        ("TRUE", set()),
        ("a", {"a"}),
        ("a > 5 AND NOT (b = 'x' OR c IS NULL)", {"a", "b", "c"}),
        ("-a < 5 OR 5 = b", {"a", "b"}),
        ("a BETWEEN b AND c", {"a", "b", "c"}),
        ("a NOT BETWEEN 1 AND 2 AND b NOT IN ('c')", {"a", "b"}),
        ("a CONTAINS 'b' AND c ENDSWITH 'd' = TRUE", {"a", "c"}),
        ("a = a", {"a"}),
    ],
)
def test_it_names_the_properties_that_it_reads(expression, names):
    assert SqlFilter().reads(expression) == names


def test_it_names_nothing_of_what_is_no_expression():
    with pytest.raises(FixError):
        SqlFilter().reads("a >")
