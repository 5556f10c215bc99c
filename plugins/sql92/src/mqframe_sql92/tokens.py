"""The words of an expression. Source: the token section of SelectorParser.jj.

A number ends where a blank or a sign follows: `10abc` and `1.2.3`, two words to Apache RocketMQ, are none.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from mqframe import FixError

KEYWORDS: Final = frozenset("NOT AND OR BETWEEN IN TRUE FALSE NULL IS CONTAINS STARTSWITH ENDSWITH".split())
END: Final = "end"
NAME: Final = "name"
TEXT: Final = "text"
WHOLE: Final = "whole number"
DOUBLE: Final = "number"

_SKIPPED: Final = re.compile(r"(?:[ \t\n\r\f]|--[^\n\r]*(?:\r\n|\n|\r)|/\*[^*]*\*(?:\*|[^*/][^*]*\*)*/)*")
# The longest match wins in Apache RocketMQ: a number with a point or an exponent before one without.
_WORD: Final = re.compile(
    r"(?P<double>[0-9]+\.[0-9]*(?:[eE][+-]?[0-9]+)?|\.[0-9]+(?:[eE][+-]?[0-9]+)?|[0-9]+[eE][+-]?[0-9]+)"
    r"|(?P<whole>0|[1-9][0-9]*[lL]?)"
    r"|(?P<text>'(?:''|[^'])*')"
    r"|(?P<name>[A-Za-z_$][A-Za-z0-9_$]*)"
    r"|(?P<sign><>|<=|>=|[=<>(),+-])"
)
_RUNS_ON: Final = re.compile(r"[A-Za-z0-9_$.]+")
_LAST_COMMENT: Final = re.compile(r"--[^\n\r]*\Z")
_KINDS: Final = {"double": DOUBLE, "whole": WHOLE, "text": TEXT, "name": NAME}


class Token(NamedTuple):
    """One word. `kind`: a keyword or sign itself, or one of the constants here; `at`: from 1."""

    kind: str
    text: str
    at: int

    def __str__(self) -> str:
        return "the end" if self.kind == END else repr(self.text)


def fault(at: int, problem: str) -> FixError:
    """The error for an expression that is wrong at character `at` (from 1)."""
    return FixError(f"SQL92 expression, character {at}: {problem}")


WORDS_MAX: Final = 4096
"""Words that an expression may have."""


class Tokens:
    """Reads `expression` word by word."""

    __slots__ = ("_at", "_count", "_expression", "_next")

    def __init__(self, expression: str) -> None:
        self._expression = expression
        self._at = 0
        self._count = 0
        self._next: Token | None = None

    def peek(self) -> Token:
        """The next word, which stays. Raises `FixError` where no word begins."""
        if self._next is None:
            self._next = self._read()
        return self._next

    def take(self) -> Token:
        """The next word, which is used up. Raises `FixError` where no word begins."""
        token = self.peek()
        self._next = None
        return token

    def expect(self, kind: str) -> Token:
        """The next word, of `kind`. Raises `FixError` when it is another."""
        token = self.peek()
        if token.kind != kind:
            raise fault(token.at, f"expected {kind}, found {token}")
        return self.take()

    def expect_end(self) -> None:
        """Raise `FixError` when a word follows. A comment may go to the end of the expression."""
        token = self.peek()
        if token.kind == "-" and _LAST_COMMENT.match(self._expression, token.at - 1):
            return
        if token.kind != END:
            raise fault(token.at, f"{token} stands behind a complete expression{_joint(token)}")

    def _read(self) -> Token:
        skipped = _SKIPPED.match(self._expression, self._at)
        at = self._at if skipped is None else skipped.end()
        if at == len(self._expression):
            return Token(END, "", at + 1)
        word = _WORD.match(self._expression, at)
        if word is None:
            raise fault(at + 1, f"{self._expression[at]!r} begins no word{_hint(self._expression, at)}")
        self._at = word.end()
        self._count += 1
        if self._count > WORDS_MAX:
            raise fault(at + 1, f"more than {WORDS_MAX} words")
        text = word[0]
        if word.lastgroup in ("double", "whole") and (more := _RUNS_ON.match(self._expression, self._at)):
            raise fault(at + 1, f"{text + more[0]!r} is no number{_number_hint(text + more[0])}")
        kind = _KINDS.get(word.lastgroup or "", text)
        if kind == NAME and text.upper() in KEYWORDS:
            kind = text.upper()
        return Token(kind, text, at + 1)


def _joint(token: Token) -> str:
    if token.kind in ("+", "-"):
        return ": nothing is computed, and names of properties hold letters, digits, _ and $ only"
    if token.kind == ")":
        return ": no parenthesis is open"
    return "; join conditions with AND or OR"


def _number_hint(text: str) -> str:
    return ": its first digit is 0" if text[0] == "0" and text.isdigit() else ""


def _hint(expression: str, at: int) -> str:
    if expression[at] == "'":
        return ": its closing quote is missing"
    if expression[at] == '"':
        return "; text stands in single quotes"
    if expression.startswith("!=", at):
        return "; unequal is <>"
    if expression.startswith(("&&", "||"), at):
        return "; write AND or OR"
    if expression.startswith("/*", at):
        return ": the end of this comment is missing"
    return ""
