"""What the numbers of the protocol mean together."""

from __future__ import annotations

import pytest

from mqframe.core.codes import LANGUAGE_NUMBERS, LANGUAGES, permission_text


@pytest.mark.parametrize(
    ("perm", "text"),
    [(0, "---"), (1, "--X"), (2, "-W-"), (4, "R--"), (6, "RW-"), (7, "RWX"), (8 | 6, "RW-")],
)
def test_permissions_are_shown_by_letters_and_the_priority_bit_has_none(perm: int, text: str) -> None:
    assert permission_text(perm) == text


def test_languages_go_by_their_place_in_the_list() -> None:
    assert [LANGUAGES[LANGUAGE_NUMBERS[name]] for name in LANGUAGES] == list(LANGUAGES)
    assert (LANGUAGE_NUMBERS["JAVA"], LANGUAGE_NUMBERS["PYTHON"], LANGUAGE_NUMBERS["GO"]) == (0, 3, 9)
