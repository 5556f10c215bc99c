"""Settings of a running broker, changed in a browser."""

from __future__ import annotations


def test_a_setting_is_changed_while_the_broker_runs(boss, boss_admin, guarded):
    page = boss.browser.page("/setting", name="broker-a")
    assert "setting?key=brokerPermission" in page
    page = boss.browser.page("/setting", name="broker-a", key="brokerPermission")
    assert "<td>6</td>" in page
    query = {"name": "broker-a", "key": "brokerPermission"}
    answer = boss.fill_in("/setting", query, value="4")
    assert "brokerPermission of broker-a was changed" in answer.text, answer.text
    assert boss_admin.brokers.config(guarded.broker.address)["brokerPermission"] == "4"


def test_the_broker_refuses_by_name(boss, boss_admin, guarded):
    before = boss_admin.brokers.config(guarded.broker.address)
    for key, value, said in (
        ("brokerName", "other", "brokerName can only be changed by a restart"),
        ("brokerPermission", "x", "brokerPermission=x"),
        ("brokerPermission", "4\rbrokerName=b", "must be one line"),
    ):
        answer = boss.fill_in("/setting", {"name": "broker-a", "key": key}, value=value)
        assert answer.status_code in (400, 409), answer.text
        assert said in answer.text
    assert boss_admin.brokers.config(guarded.broker.address) == before
    answer = boss.browser.get("/setting", name="broker-a", key="none")
    assert "tells of no setting" in answer.text
    assert boss.browser.get("/setting", name="broker-x").status_code == 404


def test_values_that_are_secrets_are_not_shown(boss, caplog):
    form = boss.form("/setting", name="broker-a", key="brokerPermission")
    secret = "something quiet"
    with caplog.at_level("INFO", "mqframe.audit"):
        answer = boss.post("/setting", form | {"key": "innerPassword", "value": secret})
    assert answer.status_code == 409, answer.text
    assert "innerPassword" in answer.text
    assert secret not in answer.text
    [line] = [each.getMessage() for each in caplog.records if "dashboard" in each.getMessage()]
    assert "innerPassword" in line
    assert secret not in line
