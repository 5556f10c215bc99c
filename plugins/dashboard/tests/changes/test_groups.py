"""Consumer groups that are made, changed and deleted in a browser."""

from __future__ import annotations


def test_a_group_is_created_changed_and_deleted(boss, boss_admin):
    answer = boss.fill_in("/group-create", {}, name="shipping", enabled="1", ordered="1", retries="3")
    assert "Group shipping was created" in answer.text, answer.text
    config = boss_admin.groups.configs()["shipping"]
    assert (config.consume_enable, config.consume_broadcast_enable) == (True, False)
    assert (config.consume_message_orderly, config.retry_max_times) == (True, 3)
    answer = boss.fill_in("/group-change", {"name": "shipping"}, broadcast="1", retries="4")
    assert "Group shipping was changed" in answer.text, answer.text
    config = boss_admin.groups.configs()["shipping"]
    assert (config.consume_enable, config.consume_broadcast_enable) == (False, True)
    assert config.retry_max_times == 4
    assert "0 members online, 0 messages to consume" in boss.browser.page("/group-delete", name="shipping")
    assert boss.fill_in("/group-delete", {"name": "shipping"}, confirm="").status_code == 400
    answer = boss.fill_in("/group-delete", {"name": "shipping"}, confirm="shipping", offsets="1")
    assert "Its progress went with it." in answer.text, answer.text
    assert "shipping" not in boss_admin.groups.list()


def test_what_a_form_does_not_have_stays(boss, boss_admin):
    from msgspec.structs import replace

    boss_admin.groups.create("shipping")
    old = replace(boss_admin.groups.configs()["shipping"], consume_timeout_minute=7, retry_queue_nums=2)
    boss_admin.groups.create(old)
    boss.fill_in("/group-change", {"name": "shipping"}, enabled="1", broadcast="1", retries="16")
    assert boss_admin.groups.configs()["shipping"] == old


def test_groups_that_exist_or_do_not_are_refused(boss, boss_admin):
    boss_admin.groups.create("shipping")
    answer = boss.fill_in("/group-create", {}, name="shipping", retries="3")
    assert answer.status_code == 400
    assert "there is a group shipping" in answer.text
    answer = boss.browser.get("/group-change", name="shiping")
    assert answer.status_code == 404
    assert "did you mean shipping?" in answer.text
    assert boss.fill_in("/group-create", {}, name="new", retries="x").status_code == 400
    assert boss.fill_in("/group-create", {}, name="a b", retries="1").status_code == 400
    assert "new" not in boss_admin.groups.list()
