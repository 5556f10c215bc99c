"""Users and policies, and what is kept of them."""

from __future__ import annotations

import pytest
from mqframe_acl.policies import Policies, policies_of
from mqframe_acl.table import FILE, USERS_MAX, User, UserTable, bad_name
from mqframe_admin.access.bodies import AclInfo, PolicyEntryInfo, PolicyInfo
from mqframe_testing.conformance import AccessStage
from mqframe_testing.conformance.access import MemoryFile

from mqframe.core.errors import BodyError

POLICIES = policies_of(AclInfo([PolicyInfo([PolicyEntryInfo("Topic:a", ["Pub"], "Allow")])]), Policies())


class FullDisk:
    def load(self, decode: object) -> None:
        return None

    def save(self, content: bytes) -> None:
        raise OSError(28, "No space left on device")


def test_what_was_changed_is_there_after_a_restart() -> None:
    stage = AccessStage()
    table = UserTable(stage)
    table.put(User("shop", "secret", enabled=False))
    table.put(User("root", "secret", everything=True))
    table.set_policies("shop", POLICIES)
    again = UserTable(AccessStage(files=stage.files))
    assert again.users == table.users
    assert again.policies == table.policies == {"shop": POLICIES}
    again.remove("shop")
    assert UserTable(AccessStage(files=stage.files)).policies == {}
    assert "shop" not in UserTable(AccessStage(files=stage.files)).users


def test_users_of_the_configuration_stay_there_until_they_are_changed() -> None:
    stage = AccessStage()
    table = UserTable(stage)
    table.put(User("shop", "secret"))
    assert b"admin-secret" not in (stage.files[FILE].content or b"")
    table.put(User("admin", "changed", everything=True))
    assert UserTable(AccessStage(files=stage.files)).users["admin"].secret == "changed"


def test_a_change_that_cannot_be_kept_is_none() -> None:
    stage = AccessStage(files={FILE: FullDisk()})  # type: ignore[dict-item]
    table = UserTable(stage)
    for change in (
        lambda: table.put(User("shop", "secret")),
        lambda: table.remove("admin"),
        lambda: table.set_policies("admin", POLICIES),
    ):
        with pytest.raises(OSError, match="No space"):
            change()
    assert set(table.users) == {"admin"}
    assert (table.policies, table.changes) == ({}, 0)


def test_there_is_an_end_of_users() -> None:
    table = UserTable(AccessStage())
    table.users = {str(n): User(str(n), "x") for n in range(USERS_MAX)}
    with pytest.raises(ValueError, match=f"{USERS_MAX} users"):
        table.put(User("one more", "x"))


def test_secrets_show_nowhere() -> None:
    user = User("shop", "s3cr3t")
    assert "s3cr3t" not in repr(user)
    assert "s3cr3t" not in repr(user.shown(secret=True))
    assert user.shown(secret=False).password is None


@pytest.mark.parametrize("name", ["", " ", "a" * 256, "a\nb", "\x00"])
def test_bad_names(name: str) -> None:
    assert bad_name(name)
    assert bad_name("shop") is None


@pytest.mark.parametrize("content", [b"{", b'{"users":7}', b'{"acls":[{"policies":[{"entries":[]}]}]}'])
def test_a_broken_file_is_not_taken_for_an_empty_one(content: bytes) -> None:
    stage = AccessStage()
    stage.files[FILE] = MemoryFile()
    stage.files[FILE].save(content)
    with pytest.raises((BodyError, ValueError)):
        UserTable(stage)
