"""Versions of brokers, by number and by name."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mqframe.core.errors import FixError
from mqframe.core.versions import check_has, version_number, version_text


# Ordinals in MQVersion.java of 5.5.0.
@pytest.mark.parametrize(
    ("number", "text"),
    [(213, "4.0.0"), (233, "4.1.0"), (407, "4.9.7"), (413, "5.0.0"), (479, "5.3.3"), (513, "5.5.0")],
)
def test_a_version_has_a_number_and_a_name(number, text):
    assert (version_text(number), version_number(text)) == (text, number)


def test_an_old_version_is_told_by_its_number():
    assert version_text(121) == "protocol version 121"


@given(st.integers(4, 9), st.integers(0, 9), st.integers(0, 9))
def test_names_come_back(major, minor, patch):
    text = f"{major}.{minor}.{patch}"
    assert version_text(version_number(text)) == text


def test_a_broker_that_is_too_old_is_named_with_the_version_that_is_not():
    with pytest.raises(FixError) as problem:
        check_has(407, "5.0.0", "a delay needs", "10.0.0.1:10911")
    said = "a delay needs Apache RocketMQ 5.0.0 or later, and 10.0.0.1:10911 is 4.9.7; nothing was sent"
    assert str(problem.value) == said


@pytest.mark.parametrize("number", [0, 413, 479])
def test_a_broker_that_is_new_enough_or_says_nothing_passes(number):
    check_has(number, "5.0.0", "a delay needs", "a:1")
