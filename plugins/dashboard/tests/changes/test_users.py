"""Users of the cluster and their policies, in a browser; secrets are only written."""

from __future__ import annotations

import pytest

from mqframe import AccessError, Admin

SECRET = "kept by heart"


def test_a_user_is_made_changed_and_deleted(boss, boss_admin, boss_access, caplog):
    with caplog.at_level("INFO", "mqframe"):
        pages = [boss.fill_in("/users", {}, name="shop", secret=SECRET, kind="normal")]
        assert "User shop was created" in pages[0].text, pages[0].text
        shop = {**boss_access, "rpc_hooks": [("acl", {"access_key": "shop", "secret_key": SECRET})]}
        with Admin(**shop) as admin:
            admin.users.check_keys(server=next(iter(boss_admin.cluster.masters().values())))
        form = {"name": "shop", "resource": "Topic:orders", "actions": "Pub, Sub", "decision": "allow"}
        pages.append(boss.fill_in("/user", {"name": "shop"}, secret="", kind="normal", state="enabled"))
        policy = boss.browser.page("/user", name="shop")
        assert "there is none" in policy
        pages.append(boss.post("/policy", hidden(policy, "policy") | form | {"sources": "10.0.0.0/8"}))
        assert "allowed: Pub, Sub on Topic:orders" in pages[-1].text
        page = boss.browser.page("/user", name="shop")
        assert "<td>Topic:orders</td><td>Pub, Sub</td><td>Allow</td><td>10.0.0.0/8</td>" in page
        query = {"name": "shop", "resource": "Topic:orders"}
        pages.append(boss.fill_in("/policy-delete", query))
        assert boss_admin.policies.list("shop") == []
        pages.append(
            boss.fill_in("/user", {"name": "shop"}, secret="another one", kind="normal", state="disabled")
        )
        assert "<td>disable</td>" in boss.browser.page("/users")
        with Admin(**shop) as admin, pytest.raises(AccessError):
            admin.users.check_keys(server=next(iter(boss_admin.cluster.masters().values())))
        assert boss.fill_in("/user-delete", {"name": "shop"}, confirm="shp").status_code == 400
        pages.append(boss.fill_in("/user-delete", {"name": "shop"}, confirm="shop"))
    assert "shop" not in [each.username for each in boss_admin.users.list()]
    for secret in (SECRET, "another one", "the boss's secret", "of the dashboard"):
        assert secret not in caplog.text
        assert all(secret not in page.text for page in pages)
        assert secret not in boss.browser.page("/users")


def hidden(page: str, action: str) -> dict[str, str]:
    import re

    form = re.search(rf'<form action="{action}" method="post".*?</form>', page, re.DOTALL)
    assert form
    return dict(re.findall(r'<input type="hidden" name="([^"]*)" value="([^"]*)">', form[0]))


def test_odd_names_are_text(boss, boss_admin):
    name = "<script>alert(1)</script>"
    boss_admin.users.create(name, "a secret")
    boss_admin.policies.set(name, ["Topic:orders"])
    for path, query in (("/users", {}), ("/user", {"name": name}), ("/user-delete", {"name": name})):
        page = boss.browser.page(path, **query)
        assert "<script>alert" not in page
        assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page
    answer = boss.fill_in("/user-delete", {"name": name}, confirm='"><b>')
    assert "<b>" not in answer.text
    assert answer.status_code == 400


def test_what_makes_no_sense_is_refused_and_named(boss):
    for path, query, values, said in (
        ("/users", {}, {"name": "boss", "secret": "x", "kind": "normal"}, "there is a user boss"),
        ("/users", {}, {"name": "new", "secret": "", "kind": "normal"}, "secret: is missing"),
        ("/users", {}, {"name": "new", "secret": "x", "kind": "odd"}, "none of normal, super"),
        ("/user", {"name": "boss"}, {"kind": "super", "state": "odd"}, "none of enabled, disabled"),
    ):
        answer = boss.fill_in(path, query, **values)
        assert answer.status_code == 400, answer.text
        assert said in answer.text
    form = hidden(boss.browser.page("/user", name="eyes"), "policy")
    for values, said in (
        ({"resource": "Topic:a", "actions": "Odd", "decision": "allow"}, "none of All, Pub"),
        ({"resource": "Odd:a", "actions": "Pub", "decision": "allow"}, "Odd:a"),
    ):
        answer = boss.post("/policy", form | values)
        assert answer.status_code in (400, 409), answer.text
        assert said in answer.text
    assert boss.browser.get("/user", name="none").status_code == 404


def test_who_may_not_see_users_is_told(clerk, boss_admin):
    boss_admin.policies.delete("clerk")
    answer = clerk.browser.get("/users")
    assert answer.status_code == 403
    assert "clerk: User:clerk has no permission" in answer.text
