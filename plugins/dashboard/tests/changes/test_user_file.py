"""Files of users who may sign in."""

from __future__ import annotations

import pytest
from mqframe_dashboard.changes.user_file import UserFile, user_line

from mqframe.core.errors import SettingError


async def test_a_line_fits_its_secret_alone(tmp_path):
    path = tmp_path / "users"
    path.write_text(f"{user_line('ann', 'größer: than')}\n# bob\n{user_line('bob', 'x')}\n", "utf-8")
    file = UserFile(path)
    assert "größer" not in path.read_text("utf-8")
    assert user_line("ann", "x") != user_line("ann", "x")
    for user, secret, fits in (
        ("ann", "größer: than", True),
        ("ann", "größer", False),
        ("bob", "x", True),
        ("bob", "größer: than", False),
        ("eve", "x", False),
    ):
        assert await file.fits(user, secret) is fits
    path.write_text(user_line("bob", "x"))
    assert not await file.fits("ann", "größer: than")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "names nobody"),
        ("ann:secret", "line 1: is no user"),
        ("\nann:scrypt:AAAA:????", "line 2: is no user"),
        ("ann:scrypt:AAAA:AAAA", "line 1: is no user"),
        ("ann:bcrypt:AAAA:AAAA", "line 1: is no user"),
    ],
)
def test_files_that_are_none_are_refused_by_line(tmp_path, text, said):
    path = tmp_path / "users"
    path.write_text(text)
    with pytest.raises(SettingError, match=said) as found:
        UserFile(path).read()
    assert "secret" not in str(found.value).replace("mqframe", "")


def test_names_that_no_line_can_have_are_refused():
    for user in ("", " ", "a:b", "#a", "a\nb"):
        with pytest.raises(SettingError, match="must be a name"):
            user_line(user, "x")
    with pytest.raises(SettingError, match="secret is empty"):
        user_line("ann", "")
