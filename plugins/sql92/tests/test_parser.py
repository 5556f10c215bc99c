"""What is no expression, and where it is wrong."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mqframe_sql92 import Expression
from mqframe_sql92.parser import NESTING_MAX, parse

from mqframe.core.errors import FixError


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
        ("amount > 10 region = 'north'", 13, "'region' stands behind a complete expression"),
        ("amount > 10)", 12, "no parenthesis is open"),
        ("amount > 10, b = 'x'", 12, "join conditions with AND or OR"),
        ("a = 5 -- one\n b", 15, "stands behind a complete expression"),
        ("order-id = 5", 6, "names of properties hold letters, digits"),
        ("a > 5 ;", 7, "';' begins no word"),
        ("a = 10abc", 5, "'10abc' is no number"),
        ("a = 1.2.3", 5, "'1.2.3' is no number"),
        ("a = 10OR b = 'x'", 5, "'10OR' is no number"),
        ("a = 0x10", 5, "'0x10' is no number"),
        ("a = 007", 5, "its first digit is 0"),
        ("a = 5 /* b", 7, "the end of this comment is missing"),
        ("NOT a = 5", 7, "write NOT (…)"),
        ("NOT a IS NULL", 7, "write NOT (…)"),
        ("NOT a CONTAINS 'x'", 7, "write NOT (…)"),
        ("b = 'x' AND NOT a NOT IN ('x')", 19, "write NOT (…)"),
    ],
)
def test_what_is_wrong_and_where(expression, at, problem):
    with pytest.raises(FixError) as caught:
        Expression(expression)
    assert str(caught.value).startswith(f"SQL92 expression, character {at}: ")
    assert problem in str(caught.value)


def test_long_chains_are_no_deep_ones():
    text = " OR ".join(f"a = {n}" for n in range(300))
    assert Expression(text).evaluate({"a": "299"}) is True
    assert Expression(text.replace("OR", "AND")).evaluate({"a": "1"}) is False


def test_nesting_has_a_limit():
    parse("(" * NESTING_MAX + "a = 5" + ")" * NESTING_MAX)
    with pytest.raises(FixError, match=f"more than {NESTING_MAX}"):
        parse("(" * (NESTING_MAX + 1) + "a = 5" + ")" * (NESTING_MAX + 1))


words = st.sampled_from("a 5 'x' ( ) AND OR NOT IN = < - , IS NULL".split())


@given(st.text(max_size=40) | st.lists(words).map(" ".join))
def test_no_text_breaks_the_parser(text):
    problem = None
    try:
        Expression(text)
    except FixError as refused:
        problem = str(refused)
    assert problem is None or problem.startswith("SQL92 expression, character ")


@pytest.mark.parametrize("joined", [" OR ", " AND "])
def test_an_expression_has_as_many_parts_as_a_message_can_be_asked(joined: str) -> None:
    parse(joined.join(["a = 1"] * 300))
    with pytest.raises(FixError, match="more than 1000 parts"):
        parse(joined.join(["a = 1"] * 400))


def test_an_expression_has_a_limit_of_words() -> None:
    texts = ", ".join(["'x'"] * 2000)
    parse(f"a IN ({texts})")
    with pytest.raises(FixError, match="character 18428: more than 4096 words"):
        parse("a IN (" + ", ".join(["'abcde'"] * 3000) + ")")
