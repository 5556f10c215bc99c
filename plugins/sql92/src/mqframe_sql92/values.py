"""Values as Java has them: how text becomes a number, and how two values compare.

Properties are text. Beside a number they are read as a number of that number's type; what cannot be read so
ends the evaluation. Sources: ComparisonExpression.java, java.lang.Integer, Long and Double.
"""

from __future__ import annotations

import math
import re
from enum import Enum
from typing import Final, NamedTuple


class EvaluationError(Exception):
    """An expression that has no value for these properties, not even "unknown"."""


class NumberKind(Enum):
    """Java's types of numbers."""

    INTEGER = "Integer"
    LONG = "Long"
    DOUBLE = "Double"


class Number(NamedTuple):
    """A number that stands in an expression. `value` is an int, or a float for `NumberKind.DOUBLE`."""

    kind: NumberKind
    value: int | float


Value = str | Number | bool | None
"""What a part of an expression can be; `None` is SQL's unknown."""

_WHOLE: Final = re.compile(r"[+-]?\d+")
_DOUBLE: Final = re.compile(
    r"[+-]?(?:NaN|Infinity|(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?[fFdD]?"
    r"|(0[xX](?:[0-9a-fA-F]+\.?|[0-9a-fA-F]*\.[0-9a-fA-F]+)[pP][+-]?[0-9]+)[fFdD]?)"
)
_BLANK: Final = "".join(map(chr, range(33)))
_BMP_MAX: Final = "\uffff"


LIMITS: Final = {NumberKind.INTEGER: 1 << 31, NumberKind.LONG: 1 << 63}
"""Whole numbers of a kind are from -limit on and below it."""
SHORT: Final = 9
"""So many digits fit every kind of whole numbers."""


def whole(text: str, kind: NumberKind) -> int:
    """`text` as an Integer or a Long. Raises `EvaluationError`."""
    plain = text.isascii() and text.isdigit()
    # Digits of other scripts count; of those outside of the first plane Java sees halves only.
    if not plain and (not _WHOLE.fullmatch(text) or max(text) > _BMP_MAX):
        raise EvaluationError(f"{text!r} is no whole number")
    if len(text) > 4000:
        digits = text.lstrip("+-").lstrip("0") or "0"
        if len(digits) > 19:
            raise EvaluationError(f"a number of {len(digits)} digits is out of range")
        text = text[0] + digits if text[0] == "-" else digits
    number = int(text)
    limit = LIMITS[kind]
    if not -limit <= number < limit:
        raise EvaluationError(f"{text!r} is out of range")
    return number


def double(text: str) -> float:
    """`text` as a Double. Raises `EvaluationError`."""
    stripped = text.strip(_BLANK)
    found = _DOUBLE.fullmatch(stripped)
    if found is None:
        raise EvaluationError(f"{text!r} is no number")
    if found[1]:
        sign = -1.0 if stripped[0] == "-" else 1.0
        try:
            return sign * float.fromhex(found[1])
        except OverflowError:
            return sign * math.inf
    if stripped[-1] in "fFdD":
        stripped = stripped[:-1]
    return float(stripped)


def number_like(text: str, kind: NumberKind) -> int | float:
    """`text` as a number of `kind`. Raises `EvaluationError`."""
    return double(text) if kind is NumberKind.DOUBLE else whole(text, kind)


def compare_numbers(left: float, right: float) -> int:
    """Below, at or above zero, as Double.compare has it: NaN is the largest, -0.0 lies before 0.0."""
    if left < right:
        return -1
    if left > right:
        return 1
    if left == right:
        return int(math.copysign(1.0, left) - math.copysign(1.0, right)) if left == 0.0 else 0
    return (left != left) - (right != right)


def order_of(left: Number, right: Number) -> int:
    """Below, at or above zero; a whole number beside a Double becomes one, digits lost or not."""
    if left.kind is NumberKind.DOUBLE or right.kind is NumberKind.DOUBLE:
        return compare_numbers(float(left.value), float(right.value))
    return (left.value > right.value) - (left.value < right.value)


def equal(left: Value, right: Value) -> bool | None:
    """Whether two values are equal; an unknown left side is like nothing that is known.

    The sides differ: an unknown right side is known to be unequal. Raises `EvaluationError`.
    """
    if left is None or right is None:
        if left is right:
            return True
        return None if left is None else False
    if isinstance(left, str):
        if isinstance(right, str):
            return left == right
        if isinstance(right, bool):
            return (left.lower() == "true") is right
        return _same(number_like(left, right.kind), right.value, right.kind)
    if isinstance(right, str):
        if isinstance(left, bool):
            raise EvaluationError("a condition cannot be compared with text at its right")
        return _same(left.value, number_like(right, left.kind), left.kind)
    if isinstance(left, bool) or isinstance(right, bool):
        return left is right
    return order_of(left, right) == 0


def _same(left: float, right: float, kind: NumberKind) -> bool:
    if kind is NumberKind.DOUBLE:
        return compare_numbers(float(left), float(right)) == 0
    return left == right
