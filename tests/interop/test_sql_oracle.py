"""Random expressions, and what Apache RocketMQ's own library makes of them."""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from pathlib import Path

from mqframe_sql92 import EvaluationError, Expression

from interop.foreign import ForeignClient
from mqframe import FixError

StartJava = Callable[..., ForeignClient]

PROPERTIES: list[dict[str, str]] = [
    {},
    {"a": "5", "b": "x", "c": "true", "d": "2.5"},
    {"a": "-3", "b": "it's", "c": "FALSE", "d": "1e3"},
    {"a": "2147483648", "b": "5", "c": "", "d": "NaN"},
    {"a": "+7", "b": "订单", "c": "7 ", "d": "-0.0"},
    {"a": "007", "b": "abc", "c": "0x1p3", "d": "0.0f"},
    {"a": "-2147483648", "b": " ", "c": "Infinity", "d": "9223372036854775807"},
    {"a": "٣", "b": "True", "c": "1_0", "d": " 3d"},
]
WORDS = """a b c d a b zzz 5 0 007 2147483648 1L 2.5 .5 5. 1e3 0.5E-1 'x' '5' '' 'it''s' 'abc' TRUE false NULL
    = <> > >= < <= ( ) ( ) , + - NOT AND OR and or BETWEEN IN IS CONTAINS STARTSWITH ENDSWITH
    ! == /*c*/ -- ; " LIKE""".split()
VALUES = (
    "a b c d zzz 5 0 2147483648 9223372036854775807 2.5 1e3 'x' '5' 'true' TRUE NULL -3 -2.5 (a) -a".split()
)
TEXTS = ["'x'", "'5'", "''", "'it''s'", "'b'", "'true'"]


def soup(chance: random.Random) -> str:
    """Words in any order; few of them are expressions, many nearly so."""
    return " ".join(chance.choice(WORDS) for _ in range(chance.randint(1, 9)))


def condition(chance: random.Random, depth: int) -> str:
    """Something of the right form, though perhaps of wrong types."""
    kind = chance.randrange(10)
    if depth and kind < 4:
        left, right = condition(chance, depth - 1), condition(chance, depth - 1)
        word = chance.choice(["AND", "OR", "and", "Or", "=", "<>"])
        return chance.choice([f"{left} {word} {right}", f"({left}) {word} ({right})", f"NOT ({left})"])
    value, other, text = chance.choice(VALUES), chance.choice(VALUES), chance.choice(TEXTS)
    negated = chance.choice(["", "NOT "])
    if kind < 7:
        return f"{value} {chance.choice(['=', '<>', '>', '>=', '<', '<='])} {other}"
    return chance.choice(
        [
            f"{value} {negated}BETWEEN {other} AND {chance.choice(VALUES)}",
            f"{value} {negated}IN ({text}, {chance.choice(TEXTS)})",
            f"{value} IS {negated}NULL",
            f"{value} {negated}{chance.choice(['CONTAINS', 'STARTSWITH', 'ENDSWITH'])} {text}",
            value,
        ]
    )


def ours(text: str) -> str:
    try:
        expression = Expression(text)
    except FixError:
        return "broken"
    results = []
    for properties in PROPERTIES:
        try:
            found = expression.evaluate(properties)
            results.append({True: "true", False: "false", None: "null"}[found])
        except EvaluationError:
            results.append("error")
    return ",".join(results)


UNREAD = re.compile(r"character (\d+): .* stands behind a complete expression")
STRICTER = re.compile(r"is no number|belongs to what stands between|begins no word|closing quote is missing")
LITERAL_LEFT = re.compile(r"(?:[0-9'.L]|TRUE|false|NULL|\)|(?:[<>=]|AND) *\S+)\s*(?:=|<>)", re.IGNORECASE)
"""An equality whose left side is no property: there either side may be unknown, or a condition."""


def is_meant(text: str, theirs: str) -> bool:
    """Whether Apache RocketMQ, which makes `theirs` of `text`, is to differ from us there."""
    try:
        Expression(text)
    except FixError as problem:
        unread = UNREAD.search(str(problem))
        if unread is None:
            return STRICTER.search(str(problem)) is not None
        head = text[: int(unread[1]) - 1]
        return ours(head) == theirs or LITERAL_LEFT.search(head) is not None
    return LITERAL_LEFT.search(text) is not None


def coded(text: str) -> str:
    return text.encode().hex()


def test_the_reference_makes_the_same_of_random_expressions(newest_java: StartJava, tmp_path: Path) -> None:
    chance = random.Random(7)
    texts = [soup(chance) for _ in range(3000)] + [condition(chance, 2) for _ in range(5000)]
    lines = [
        " ".join(["p", *(coded(word) for pair in each.items() for word in pair)]) for each in PROPERTIES
    ] + [f"e {coded(text)}" for text in texts]
    file = tmp_path / "expressions"
    file.write_text("\n".join(lines) + "\n")
    theirs = [line[1] for line in newest_java("SqlOracle", str(file)).finish() if line[0] == "result"]
    assert len(theirs) == len(texts)
    different = [
        (text, them, us)
        for text, them in zip(texts, theirs, strict=True)
        if them != (us := ours(text)) and not is_meant(text, them)
    ]
    assert different == []
    assert 1000 < theirs.count("broken") < 6000
