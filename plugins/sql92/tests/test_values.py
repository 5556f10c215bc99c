"""How text becomes a number, and how two values compare, as Java has it."""

import pytest
from mqframe_sql92 import EvaluationError
from mqframe_sql92.values import Number, NumberKind, compare_numbers, double, equal, order_of, whole


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
        whole(text, NumberKind.LONG)


@pytest.mark.parametrize("text", ["", ".", "e5", "1e", "inf", "NaNd", "0x1", "1__0", "٥"])
def test_no_doubles(text):
    with pytest.raises(EvaluationError):
        double(text)


@pytest.mark.parametrize(
    ("text", "kind", "number"),
    [
        ("+5", NumberKind.INTEGER, 5),
        ("-2147483648", NumberKind.INTEGER, -(2**31)),
        ("2147483648", NumberKind.LONG, 2**31),
    ],
)
def test_whole_numbers(text, kind, number):
    assert whole(text, kind) == number


def test_a_whole_number_keeps_to_its_type():
    with pytest.raises(EvaluationError, match="out of range"):
        whole("2147483648", NumberKind.INTEGER)


def test_a_whole_number_beside_a_double_becomes_one():
    large = Number(NumberKind.LONG, 9007199254740993)
    assert order_of(large, Number(NumberKind.DOUBLE, 9007199254740992.0)) == 0
    assert order_of(large, Number(NumberKind.LONG, 9007199254740992)) > 0


@pytest.mark.parametrize(
    ("left", "right", "result"),
    [
        (None, "x", None),
        ("x", None, False),
        (None, None, True),
        ("TRUE", True, True),
        ("5.0", Number(NumberKind.DOUBLE, 5.0), True),
        (Number(NumberKind.INTEGER, 5), "+5", True),
        (True, Number(NumberKind.INTEGER, 1), False),
    ],
)
def test_what_is_equal(left, right, result):
    assert equal(left, right) is result


def test_a_condition_is_not_compared_with_text_at_its_right():
    with pytest.raises(EvaluationError):
        equal(True, "true")
