"""The words of an expression: kinds, places, and what begins none."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mqframe_sql92.tokens import DOUBLE, END, NAME, TEXT, WHOLE, Token, Tokens

from mqframe.core.errors import FixError


def words(expression: str) -> list[Token]:
    tokens, found = Tokens(expression), []
    while not found or found[-1].kind != END:
        found.append(tokens.take())
    return found


def test_kinds_and_places():
    assert words("a >= 5 AND b <> 'it''s' oR -1.5e3") == [
        Token(NAME, "a", 1), Token(">=", ">=", 3), Token(WHOLE, "5", 6), Token("AND", "AND", 8),
        Token(NAME, "b", 12), Token("<>", "<>", 14), Token(TEXT, "'it''s'", 17), Token("OR", "oR", 25),
        Token("-", "-", 28), Token(DOUBLE, "1.5e3", 29), Token(END, "", 34),
    ]  # fmt: skip


def test_the_longest_word_wins():
    assert [(t.kind, t.text) for t in words("0 7 12.5 1e3 .5 1L")] == [
        (WHOLE, "0"), (WHOLE, "7"), (DOUBLE, "12.5"), (DOUBLE, "1e3"), (DOUBLE, ".5"),
        (WHOLE, "1L"), (END, ""),
    ]  # fmt: skip


@pytest.mark.parametrize("between", [" ", "\t\r\n\f", "-- to the end\n", "/* a ** comment */", "/**/ /***/"])
def test_what_stands_between_words_is_passed_over(between):
    assert [token.text for token in words(f"a{between}b")] == ["a", "b", ""]


def test_looking_uses_nothing_up():
    tokens = Tokens("a b")
    assert tokens.peek() is tokens.peek()
    assert tokens.take().text == "a"
    assert tokens.expect(NAME).text == "b"
    with pytest.raises(FixError, match="character 4: expected name, found the end"):
        tokens.expect(NAME)


def test_words_are_read_as_they_are_asked_for():
    tokens = Tokens("a !")
    assert tokens.take().text == "a"
    with pytest.raises(FixError, match="character 3: '!' begins no word"):
        tokens.peek()


@given(st.text(alphabet="ab5.'\"()<>=-/* \n", max_size=30))
def test_words_lie_in_order_and_are_parts_of_the_text(expression):
    tokens, end = Tokens(expression), 0
    while True:
        try:
            token = tokens.take()
        except FixError:
            break
        assert token.at > end
        if token.kind == END:
            break
        assert expression[token.at - 1 :].startswith(token.text)
        end = token.at + len(token.text) - 1
