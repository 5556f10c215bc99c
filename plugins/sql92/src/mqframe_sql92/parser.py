"""The grammar, as one method a rule. Source: the grammar section of SelectorParser.jj.

or: and {OR and}
and: equality {AND equality}
equality: comparison {= comparison | <> comparison | IS [NOT] NULL}
comparison: unary {(> | >= | < | <=) unary | [NOT] (CONTAINS | STARTSWITH | ENDSWITH) text
                   | [NOT] BETWEEN unary AND unary | [NOT] IN (text {, text})}
unary: + unary | - unary | NOT unary | literal | property | ( or )

Apache RocketMQ passes over what follows the first word that cannot go on. Here all is read.
A comparison whose left side begins with NOT is refused: there NOT belongs to that side alone.
"""

from __future__ import annotations

from typing import Final

from mqframe import FixError
from mqframe_sql92 import operators as make
from mqframe_sql92.operators import Part
from mqframe_sql92.tokens import DOUBLE, NAME, TEXT, WHOLE, Token, Tokens, fault
from mqframe_sql92.values import Number, NumberKind, Value

NESTING_MAX: Final = 50
"""Parentheses, signs and NOTs within each other; each takes six calls to read."""
_INT_MAX: Final = 2**31 - 1
_LONG_MAX: Final = 2**63 - 1
_FIXED: Final[dict[str, Value]] = {"TRUE": True, "FALSE": False, "NULL": None}
_SEARCHES: Final = ("CONTAINS", "STARTSWITH", "ENDSWITH")
_COMPARING: Final = frozenset((*make.ORDERINGS, *_SEARCHES, "NOT", "BETWEEN", "IN"))


def parse(expression: str) -> Part:
    """The condition that `expression` says. Raises `FixError` with the place and what is wrong there."""
    return make.condition(_Parser(expression).whole())


class _Parser:
    __slots__ = ("_count", "_nesting", "_tokens")

    def __init__(self, expression: str) -> None:
        self._tokens = Tokens(expression)
        self._count = 0
        self._nesting = 0

    def whole(self) -> Part:
        """All of the expression. Raises `FixError` for what follows it."""
        part = self.disjunction()
        self._tokens.expect_end()
        return part

    def disjunction(self) -> Part:
        parts = [self._conjunction()]
        while self._tokens.peek().kind == "OR":
            self._tokens.take()
            parts.append(self._conjunction())
        return parts[0] if len(parts) == 1 else make.any_of(parts)

    def _conjunction(self) -> Part:
        parts = [self._equality()]
        while self._tokens.peek().kind == "AND":
            self._tokens.take()
            parts.append(self._equality())
        return parts[0] if len(parts) == 1 else make.all_of(parts)

    def _equality(self) -> Part:
        negated_alone = self._tokens.peek().kind == "NOT"
        left = self._comparison()
        while True:
            token = self._tokens.peek()
            kind = token.kind
            if negated_alone and kind in ("=", "<>", "IS"):
                raise _only_left(token)
            if kind in ("=", "<>"):
                self._tokens.take()
                left = make.equality(left, self._comparison())
                if kind == "<>":
                    left = make.negation(left.at, left)
            elif kind == "IS":
                self._tokens.take()
                negated = self._tokens.peek().kind == "NOT"
                if negated:
                    self._tokens.take()
                self._tokens.expect("NULL")
                left = make.is_null(left)
                if negated:
                    left = make.negation(left.at, left)
            else:
                return left

    def _comparison(self) -> Part:
        negated_alone = self._tokens.peek().kind == "NOT"
        left = self._unary()
        while True:
            token = self._tokens.peek()
            if negated_alone and token.kind in _COMPARING:
                raise _only_left(token)
            if token.kind in make.ORDERINGS:
                self._tokens.take()
                left = make.ordering(token.kind, left, self._unary())
                continue
            wanted = token.kind != "NOT"
            if not wanted:
                self._tokens.take()
                token = self._tokens.peek()
            if token.kind in _SEARCHES:
                self._tokens.take()
                left = make.search(token.kind, left, self._text(), wanted=wanted)
            elif token.kind == "BETWEEN":
                left = self._between(left, wanted)
            elif token.kind == "IN":
                left = make.member(left, self._list(), wanted=wanted)
            elif wanted:
                return left
            else:
                raise fault(token.at, f"expected BETWEEN, IN or a search behind NOT, found {token}")

    def _between(self, left: Part, wanted: bool) -> Part:
        self._tokens.take()
        low = self._unary()
        self._tokens.expect("AND")
        high = self._unary()
        return make.between(left, low, high) if wanted else make.not_between(left, low, high)

    def _list(self) -> list[str]:
        self._tokens.take()
        self._tokens.expect("(")
        texts = [self._text()]
        while self._tokens.peek().kind == ",":
            self._tokens.take()
            texts.append(self._text())
        self._tokens.expect(")")
        return texts

    def _unary(self) -> Part:
        token = self._tokens.peek()
        if token.kind not in ("+", "-", "NOT", "("):
            return self._primary()
        self._tokens.take()
        self._nesting += 1
        if self._nesting > NESTING_MAX:
            raise fault(token.at, f"more than {NESTING_MAX} parentheses and signs lie within each other")
        if token.kind == "(":
            part = self.disjunction()
            self._tokens.expect(")")
        elif token.kind == "+":
            part = self._unary()
        elif token.kind == "-":
            part = make.negative(token.at, self._unary())
        else:
            part = make.negation(token.at, self._unary())
        self._nesting -= 1
        return part

    def _primary(self) -> Part:
        token = self._tokens.peek()
        self._count += 1
        if self._count > make.PARTS_MAX:  # those who have far too many are not read to the end
            raise make.too_many(token.at)
        if token.kind == NAME:
            return make.prop(self._tokens.take().at, token.text)
        if token.kind == TEXT:
            return make.constant(token.at, self._text())
        if token.kind == WHOLE:
            self._tokens.take()
            return make.constant(token.at, _whole(token.text, token.at))
        if token.kind == DOUBLE:
            self._tokens.take()
            return make.constant(token.at, _double(token.text, token.at))
        if token.kind in _FIXED:
            self._tokens.take()
            return make.constant(token.at, _FIXED[token.kind])
        raise fault(token.at, f"expected a property, a text, a number or a parenthesis, found {token}")

    def _text(self) -> str:
        return self._tokens.expect(TEXT).text[1:-1].replace("''", "'")


def _only_left(token: Token) -> FixError:
    return fault(token.at, f"NOT belongs to what stands between it and {token} alone; write NOT (…)")


def _whole(text: str, at: int) -> Number:
    digits = text.rstrip("lL")
    if len(digits) > 19 or int(digits) > _LONG_MAX:
        raise fault(at, f"{text} does not fit 64 bits")
    value = int(digits)
    return Number(NumberKind.INTEGER if value <= _INT_MAX else NumberKind.LONG, value)


def _double(text: str, at: int) -> Number:
    value = float(text)
    if value == float("inf") or value == 0.0:
        raise fault(at, f"{text} is too {'large' if value else 'small'} for a number with a point")
    return Number(NumberKind.DOUBLE, value)
