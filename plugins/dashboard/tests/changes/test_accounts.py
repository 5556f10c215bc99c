"""Who may sign in: users of the cluster where it checks them, users of a file elsewhere."""

from __future__ import annotations

import pytest
from mqframe_dashboard.changes.accounts import ClusterAccounts, FileAccounts, signed_by
from mqframe_dashboard.changes.rejection import Rejection
from mqframe_dashboard.changes.user_file import user_line

from mqframe import AsyncAdmin
from mqframe.core.errors import SettingError


class Asking:
    """Asks one server at once."""

    def __init__(self, admin: AsyncAdmin) -> None:
        self.admin = admin

    async def ask(self, call, *args, **kwargs):
        return await call(*args, **kwargs)


async def test_users_are_known_by_their_keys(guarded, boss_admin, boss_access):
    boss_admin.users.create("shop", "of the shop")

    async with AsyncAdmin(**boss_access) as admin:
        accounts = ClusterAccounts(Asking(admin), boss_access)
        for wrong in (("shop", "other"), ("other", "of the shop"), ("boss", "of the shop")):
            assert await accounts.account(*wrong) is None
        found = await accounts.account("shop", "of the shop")
        assert found is not None
        assert found.user == "shop"
        assert "of the shop" not in repr(found)
        await found.close()


def test_a_cluster_that_checks_nobody_lets_nobody_sign_in(mqframe_cluster, open_browser):
    browser = open_browser(mqframe_cluster.nameserver, sign_in="cluster")
    form, headers = {"user": "boss", "secret": "any"}, {"origin": "http://127.0.0.1"}
    answer = browser.request("POST", "/sign-in", data=form, headers=headers)
    assert answer.status_code == 403
    assert "keys prove nothing" in answer.text
    assert "set-cookie" not in answer.headers


async def test_a_user_whose_secret_is_not_looked_at_may_not_sign_in():
    class Careless:
        """Knows `white` by any secret, as plain_acl.yml has it for addresses that it trusts."""

        @property
        def cluster(self):
            return self

        async def masters(self):
            return {"broker-a": "127.0.0.1:1"}

    accounts = ClusterAccounts(Asking(Careless()), {"nameserver": "127.0.0.1:1"})

    async def known(admin, server):
        return True

    accounts._known = known
    with pytest.raises(Rejection, match="keys prove nothing"):
        await accounts.account("white", "any")


def test_own_keys_leave_no_trace_in_those_of_users():
    class Other:
        name = "other"

    class Acl:
        name = "acl"

    hooks = [
        "acl",
        ("acl", {"access_key": "a", "secret_key": "b"}),
        Acl(),
        Acl,
        "mqframe_acl:AclHook",
        Other,
        ("other", {}),
    ]
    signed = signed_by({"nameserver": "n", "rpc_hooks": hooks}, "ann", "secret")
    keys = {"access_key": "ann", "secret_key": "secret", "security_token": None}
    assert signed == {"nameserver": "n", "rpc_hooks": [Other, ("other", {}), ("acl", keys)]}


def test_users_of_a_file_work_with_the_dashboards_keys(mqframe_cluster, open_browser, tmp_path, caplog):
    path = tmp_path / "users"
    path.write_text("# operators\n\n" + user_line("ann", "her secret") + "\n")
    browser = open_browser(mqframe_cluster.nameserver, sign_in=f"file:{path}")
    headers = {"origin": "http://127.0.0.1"}
    for user, secret, status in (("ann", "his", 403), ("bob", "her secret", 403), ("ann", "her secret", 303)):
        form = {"user": user, "secret": secret}
        assert browser.request("POST", "/sign-in", data=form, headers=headers).status_code == status
    page = browser.page("/topic-create")
    form = {"name": "new", "queues": "1", "perm": "6"}
    for name in ("token", "ticket"):
        form[name] = page.partition(f'name="{name}" value="')[2].partition('"')[0]
    with caplog.at_level("INFO", "mqframe.audit"):
        answer = browser.request("POST", "/topic-create", data=form, headers=headers)
    assert "Topic new was created" in answer.text, answer.text
    [line] = [each for each in caplog.records if each.getMessage().startswith("dashboard topic-create")]
    assert line.fields["user"] == "ann"
    answer = browser.get("/users")
    assert answer.status_code == 404
    assert "do not check who asks" in answer.text


def test_a_file_that_was_spoilt_is_told_to_the_log_alone(mqframe_cluster, open_browser, tmp_path, caplog):
    path = tmp_path / "users"
    path.write_text(user_line("ann", "her secret"))
    browser = open_browser(mqframe_cluster.nameserver, sign_in=f"file:{path}")
    path.write_text("ann:her secret")
    form, headers = {"user": "ann", "secret": "her secret"}, {"origin": "http://127.0.0.1"}
    for _ in range(6):
        answer = browser.request("POST", "/sign-in", data=form, headers=headers)
        assert answer.status_code == 500
        assert str(path) not in answer.text
    assert str(path) in caplog.text


def test_a_file_that_is_none_is_refused_at_the_start(tmp_path):
    with pytest.raises(SettingError, match="cannot be read"):
        FileAccounts(AsyncAdmin(nameserver="127.0.0.1:1"), {}, tmp_path / "none")
