"""Parts of an expression, and what makes greater ones of them.

A part is checked when it is made, as in Apache RocketMQ, and holds a closure that evaluates it. Numbers
occur as constants only, since properties are text; so much is decided once, when an expression is compiled.
Sources: ComparisonExpression.java, LogicExpression.java, UnaryExpression.java, ConstantExpression.java.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from mqframe import FixError
from mqframe_sql92.tokens import fault
from mqframe_sql92.values import (
    SHORT,
    Number,
    NumberKind,
    Value,
    compare_numbers,
    double,
    equal,
    order_of,
    whole,
)

Properties = Mapping[str, str]
Evaluate = Callable[[Properties], Any]
"""Gives the value of a part for a message's properties. Raises `EvaluationError`."""

KNOWN_MAX: Final = 1024
"""Values of a property whose comparison with a number is remembered."""
DEPTH_MAX: Final = 200
"""Parts within parts that an expression may have."""
PARTS_MAX: Final = 1000
"""Parts that an expression may have: each is evaluated for each message. A comparison has three."""

Holds = Callable[[Any, Any], bool]
"""One of the four orderings, asked of two numbers."""
ORDERINGS: Final[Mapping[str, Holds]] = {
    ">": operator.gt,
    ">=": operator.ge,
    "<": operator.lt,
    "<=": operator.le,
}
_MIRRORED: Final = {">": "<", ">=": "<=", "<": ">", "<=": ">="}


class Part:
    """One part. `at`: where it begins, from 1.

    `name`: it is the property of that name. `names`: those of all properties in it. `constant`: it is
    `value`, as written. `number`: it is this number, perhaps a negated one. `is_condition`: it is true, false
    or unknown. `needed`: what must all be true for it to be true.
    """

    __slots__ = (
        "at", "constant", "count", "depth", "evaluate", "is_condition", "name", "names", "needed", "number",
        "value",
    )  # fmt: skip

    def __init__(
        self,
        at: int,
        evaluate: Evaluate,
        inner: Sequence[Part] = (),
        *,
        is_condition: bool = False,
        name: str | None = None,
        constant: bool = False,
        value: Value = None,
        number: Number | None = None,
    ) -> None:
        self.at = at
        self.evaluate = evaluate
        self.is_condition = is_condition
        self.name = name
        self.names: frozenset[str] = frozenset(() if name is None else (name,)).union(
            *(part.names for part in inner)
        )
        self.constant = constant
        self.value = value
        self.number = number
        self.needed: list[Evaluate] = [evaluate]
        self.depth: int = 1 + max((part.depth for part in inner), default=0)
        if self.depth > DEPTH_MAX:
            raise fault(at, f"more than {DEPTH_MAX} parts lie within each other")
        self.count: int = 1 + sum(part.count for part in inner)
        if self.count > PARTS_MAX:
            raise too_many(at)


def too_many(at: int) -> FixError:
    """The error of an expression with more parts than it may have."""
    return fault(at, f"more than {PARTS_MAX} parts: comparisons, properties, literals")


def prop(at: int, name: str) -> Part:
    """The property called `name`."""
    return Part(at, lambda properties: properties.get(name), name=name)


def constant(at: int, value: Value) -> Part:
    """A text, a number, TRUE, FALSE or NULL."""
    return Part(
        at,
        lambda properties: value,
        constant=True,
        value=value,
        is_condition=value is None or isinstance(value, bool),
        number=value if isinstance(value, Number) else None,
    )


def condition(part: Part) -> Part:
    """`part` where a condition is wanted. A property is one that is unknown or false, as text is not true."""
    if part.is_condition:
        return part
    if part.name is None:
        raise fault(part.at, "this is neither true nor false; compare it with something")
    get = part.evaluate
    return Part(
        part.at, lambda properties: None if get(properties) is None else False, [part], is_condition=True
    )


def negative(at: int, part: Part) -> Part:
    """The number `part` with its sign turned; unknown for everything else."""
    if part.number is not None:
        turned = Number(part.number.kind, -part.number.value)
        return Part(at, lambda properties: turned, [part], number=turned)
    evaluate = part.evaluate

    def unknown(properties: Properties) -> None:
        evaluate(properties)  # may have no value at all

    return Part(at, unknown, [part])


def negation(at: int, part: Part) -> Part:
    """NOT."""
    evaluate = condition(part).evaluate

    def turned(properties: Properties) -> bool | None:
        value = evaluate(properties)
        return None if value is None else not value

    return Part(at, turned, [part], is_condition=True)


def all_of(parts: Sequence[Part]) -> Part:
    """AND over two or more: false as soon as one is false, unknown when one is unknown."""
    inner = [condition(part) for part in parts]
    evaluates = [part.evaluate for part in inner]

    def conjunction(properties: Properties) -> bool | None:
        result: bool | None = True
        for evaluate in evaluates:
            value = evaluate(properties)
            if value is False:
                return False
            if value is None:
                result = None
        return result

    made = Part(parts[0].at, conjunction, inner, is_condition=True)
    made.needed = evaluates
    return made


def any_of(parts: Sequence[Part]) -> Part:
    """OR over two or more: true as soon as one is true, unknown when one is unknown."""
    inner = [condition(part) for part in parts]
    evaluates = [part.evaluate for part in inner]

    def disjunction(properties: Properties) -> bool | None:
        result: bool | None = False
        for evaluate in evaluates:
            value = evaluate(properties)
            if value is True:
                return True
            if value is None:
                result = None
        return result

    return Part(parts[0].at, disjunction, inner, is_condition=True)


def is_null(left: Part) -> Part:
    """IS NULL."""
    evaluate = left.evaluate
    return Part(left.at, lambda properties: evaluate(properties) is None, [left], is_condition=True)


def equality(left: Part, right: Part) -> Part:
    """`=`. Raises `FixError` for NULL, and for a constant condition at the left of another constant."""
    for part in (left, right):
        if part.constant and part.value is None:
            raise fault(part.at, "NULL is equal to nothing; write IS NULL")
    if left.constant and right.constant and left.is_condition and not right.is_condition:
        raise fault(right.at, "a condition cannot be compared with this")
    if right.name is not None and (left.constant or left.is_condition or left.number is not None):
        # One way round means what the other does. Apache RocketMQ has no value for TRUE = a where a = TRUE is
        # true, and takes 5 <> a for true where there is no a.
        return Part(left.at, _equality(right, left), [left, right], is_condition=True)
    return Part(left.at, _equality(left, right), [left, right], is_condition=True)


def _equality(left: Part, right: Part) -> Evaluate:
    name, value = left.name, right.value
    if name is not None and right.constant and isinstance(value, str):

        def same_text(properties: Properties) -> bool | None:
            found = properties.get(name)
            return None if found is None else found == value

        return same_text
    number = right.number
    if name is not None and number is not None and number.kind is not NumberKind.DOUBLE:
        kind, wanted = number.kind, number.value

        known: dict[str, bool] = {}  # properties repeat, and reading a number costs more than looking it up

        def same_number(properties: Properties) -> bool | None:
            found = properties.get(name)
            if found is None:
                return None
            same = known.get(found)
            if same is None:
                same = whole(found, kind) == wanted
                if len(known) < KNOWN_MAX and len(found) <= SHORT:
                    known[found] = same
            return same

        return same_number
    first, second = left.evaluate, right.evaluate
    return lambda properties: equal(first(properties), second(properties))


def ordering(sign: str, left: Part, right: Part) -> Part:
    """`>`, `>=`, `<`, `<=`. Raises `FixError` for what has no order: text, conditions, NULL."""
    for part in (left, right):
        if part.is_condition or (part.constant and part.number is None):
            raise fault(part.at, f"only numbers and properties can be compared by {sign}")
    return Part(left.at, _ordering(sign, left, right), [left, right], is_condition=True)


def _ordering(sign: str, left: Part, right: Part) -> Evaluate:
    holds = ORDERINGS[sign]
    if left.name is not None and right.number is not None:
        return _property_against(holds, left.name, right.number)
    if right.name is not None and left.number is not None:
        return _property_against(ORDERINGS[_MIRRORED[sign]], right.name, left.number)
    if left.number is not None and right.number is not None:
        outcome = holds(order_of(left.number, right.number), 0)
        return lambda properties: outcome
    first, second = left.evaluate, right.evaluate

    def two_properties(properties: Properties) -> bool | None:
        one = first(properties)
        if one is None:
            return None
        other = second(properties)
        if other is None:
            return None
        # One side can be a number only where the other is always unknown.
        return holds(compare_numbers(double(one), double(other)), 0)

    return two_properties


def _property_against(holds: Holds, name: str, number: Number) -> Evaluate:
    kind, limit = number

    def against(properties: Properties) -> bool | None:
        found = properties.get(name)
        if found is None:
            return None
        # Short ones need no look at what fits; this is asked for every message.
        if len(found) <= SHORT and found.isdigit() and found.isascii():
            return holds(int(found), limit)
        return holds(whole(found, kind), limit)

    def double_against(properties: Properties) -> bool | None:
        found = properties.get(name)
        return None if found is None else holds(compare_numbers(double(found), limit), 0)

    return double_against if kind is NumberKind.DOUBLE else against


def between(value: Part, low: Part, high: Part) -> Part:
    """BETWEEN. Raises `FixError` when both bounds are written and the lower one is greater."""
    below, above = ordering(">=", value, low), ordering("<=", value, high)
    if low.constant and high.constant:
        assert low.number is not None
        assert high.number is not None
        if order_of(high.number, low.number) < 0:
            raise fault(low.at, f"the lower bound {low.number.value} is above {high.number.value}")
    return all_of([below, above])


def not_between(value: Part, low: Part, high: Part) -> Part:
    """NOT BETWEEN."""
    return any_of([ordering("<", value, low), ordering(">", value, high)])


def member(left: Part, texts: Sequence[str], *, wanted: bool) -> Part:
    """IN, and NOT IN where not `wanted`. Raises `FixError` unless `left` is a property."""
    name = left.name
    if name is None:
        raise fault(left.at, "only a property can be IN a list")
    among = frozenset(texts)

    def is_member(properties: Properties) -> bool | None:
        found = properties.get(name)
        return None if found is None else (found in among) is wanted

    return Part(left.at, is_member, [left], is_condition=True)


_SEARCHES: Final[Mapping[str, Callable[[str, str], bool]]] = {
    "CONTAINS": operator.contains,
    "STARTSWITH": str.startswith,
    "ENDSWITH": str.endswith,
}


def search(how: str, left: Part, text: str, *, wanted: bool) -> Part:
    """CONTAINS, STARTSWITH, ENDSWITH, and their opposites where not `wanted`.

    False in both forms where `left` is no text or `text` is empty.
    """
    holds, evaluate = _SEARCHES[how], left.evaluate

    def found(properties: Properties) -> bool:
        value = evaluate(properties)
        if value.__class__ is not str or not text:
            return False
        return holds(value, text) is wanted

    return Part(left.at, found, [left], is_condition=True)
