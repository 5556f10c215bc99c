"""Random expressions, written down and evaluated, against a model that walks the tree."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st
from mqframe_sql92 import EvaluationError, Expression

ERROR = "error"
names = st.sampled_from("abc")
texts = st.sampled_from(["", "x", "5", "it's", "true", "订单"])
wholes = st.integers(-9, 9) | st.sampled_from([2**31 - 1, 2**31, -(2**31) - 1, 2**62])
doubles = st.sampled_from([0.5, -0.5, 2.5, 1e300])
properties = st.dictionaries(names, texts | wholes.map(str) | doubles.map(str), max_size=3)
orderings = st.sampled_from([">", ">=", "<", "<="])
lists = st.lists(texts, min_size=1, max_size=3)
negations = st.sampled_from(["", "NOT "])
searches = st.sampled_from(["CONTAINS", "STARTSWITH", "ENDSWITH"])
leaves = st.one_of(
    st.tuples(st.just("order"), orderings, names, wholes | doubles),
    st.tuples(st.just("equal"), st.sampled_from(["=", "<>"]), names, wholes | doubles | texts),
    st.tuples(st.just("null"), st.sampled_from(["IS NULL", "IS NOT NULL"]), names),
    st.tuples(st.just("in"), st.sampled_from(["IN", "NOT IN"]), names, lists),
    st.tuples(st.just("search"), negations, searches, names, texts),
    st.tuples(st.just("between"), negations, names, st.integers(-9, 0), st.integers(0, 9)),
    st.tuples(st.just("cast"), names),
    st.tuples(st.just("fixed"), st.sampled_from(["TRUE", "FALSE", "NULL"])),
)
trees = st.recursive(
    leaves,
    lambda inner: st.tuples(st.sampled_from(["and", "or"]), inner, inner) | st.tuples(st.just("not"), inner),
    max_leaves=8,
)


def literal(value):
    return "'" + value.replace("'", "''") + "'" if isinstance(value, str) else repr(value).replace("+", "")


def written(tree):
    match tree:
        case ["order" | "equal", sign, name, value]:
            return f"{name} {sign} {literal(value)}"
        case ["null", what, name]:
            return f"{name} {what}"
        case ["in", what, name, values]:
            return f"{name} {what} ({', '.join(map(literal, values))})"
        case ["search", negated, how, name, text]:
            return f"{name} {negated}{how} {literal(text)}"
        case ["between", negated, name, low, high]:
            return f"{name} {negated}BETWEEN {low} AND {high}"
        case ["cast", name]:
            return name
        case ["fixed", word]:
            return word
        case ["not", inner]:
            return f"NOT ({written(inner)})"
        case [word, left, right]:
            return f"({written(left)}) {word} ({written(right)})"


def number(text, like):
    """`text` as a number of the type of `like`; ERROR when it is none."""
    try:
        if isinstance(like, float):
            return float(text)
        limit = 2**31 if -(2**31) < like < 2**31 else 2**63
        found = int(text)
        return found if -limit <= found < limit else ERROR
    except ValueError:
        return ERROR


def ordered(sign, text, value):
    if text is None:
        return None
    found = number(text, value)
    if found is ERROR:
        return ERROR
    return {">": found > value, ">=": found >= value, "<": found < value, "<=": found <= value}[sign]


def turned(value):
    return value if value in (None, ERROR) else not value


def joined(word, left, right):
    """AND and OR by their table: the deciding value first, then errors, then the unknown."""
    decides = word == "or"
    if left is decides or left is ERROR:
        return left
    if right is decides or right is ERROR:
        return right
    return None if None in (left, right) else not decides


def meaning(tree, values):
    match tree:
        case ["order", sign, name, value]:
            return ordered(sign, values.get(name), value)
        case ["equal", sign, name, value]:
            text = values.get(name)
            if text is None:
                return None
            found = text if isinstance(value, str) else number(text, value)
            same = ERROR if found is ERROR else found == value
            return same if sign == "=" else turned(same)
        case ["null", what, name]:
            return (name not in values) == (what == "IS NULL")
        case ["in", what, name, members]:
            return None if name not in values else (values[name] in members) == (what == "IN")
        case ["search", negated, how, name, text]:
            if name not in values or text == "":
                return False
            value = values[name]
            hit = {
                "CONTAINS": value.find(text) >= 0,
                "STARTSWITH": value[: len(text)] == text,
                "ENDSWITH": len(value) >= len(text) and value[len(value) - len(text) :] == text,
            }[how]
            return hit != bool(negated)
        case ["between", negated, name, low, high]:
            text = values.get(name)
            within = joined("and", ordered(">=", text, low), ordered("<=", text, high))
            return turned(within) if negated else within
        case ["cast", name]:
            return None if name not in values else False
        case ["fixed", word]:
            return {"TRUE": True, "FALSE": False, "NULL": None}[word]
        case ["not", inner]:
            return turned(meaning(inner, values))
        case [word, left, right]:
            return joined(word, meaning(left, values), meaning(right, values))


@settings(max_examples=400)
@given(trees, properties)
def test_an_expression_means_what_the_model_says(tree, values):
    expression = Expression(written(tree))
    try:
        found = expression.evaluate(values)
    except EvaluationError:
        found = ERROR
    expected = meaning(tree, values)
    assert found is expected or found == expected == ERROR
    assert expression.matches(values) is (expected is True)
