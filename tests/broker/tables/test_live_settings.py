"""Which code a change of a running broker's settings is refused with."""

from __future__ import annotations

import pytest
from mqframe_pop.settings import PopSettings
from mqframe_transactions.settings import TransactionSettings

from mqframe.broker.settings import BrokerSettings
from mqframe.broker.tables.live_settings import LiveSettings
from mqframe.core.config.live import ChangedSettings
from mqframe.core.errors import Refusal
from mqframe.core.requests.failures import refused
from mqframe.store.settings import StoreSettings


def test_a_change_is_in_force_at_once_and_named():
    live = LiveSettings(BrokerSettings())
    assert live.change("brokerPermission=4\nlongPollingEnable=false\n") == {
        "brokerPermission",
        "longPollingEnable",
    }
    assert (live.current.permission, live.current.long_polling) == (4, False)


@pytest.mark.parametrize(
    ("line", "code"),
    [
        ("nonsense=1", 29),
        ("brokerPermission=8", 29),
        ("brokerPermission=all", 29),
        ("brokerName=other", 16),
        ("popCkStayBufferTime=5000", 16),
        ("fileReservedTime=never", 29),
        ("mappedFileSizeCommitLog=4096", 16),
    ],
)
def test_a_refused_change_leaves_everything_as_it_was(line, code):
    live = LiveSettings(BrokerSettings(), services=[PopSettings()])
    before = live.current
    with pytest.raises(Exception, match=line.partition("=")[0].removeprefix("broker")[1:]) as caught:
        live.change(f"longPollingEnable=false\n{line}")
    assert refused(caught.value).code == code
    assert live.current is before


def test_an_unknown_key_is_a_refusal():
    with pytest.raises(Refusal):
        LiveSettings(BrokerSettings()).change("x")


def test_the_store_is_changed_with_the_broker():
    live = LiveSettings(BrokerSettings(), StoreSettings(keep_hours=48))
    changed = live.change("fileReservedTime=5\nlongPollingEnable=false")
    assert changed == {"fileReservedTime", "longPollingEnable"}
    assert (live.store, live.current.long_polling) == (StoreSettings(keep_hours=5), False)


def test_what_was_changed_is_in_force_in_the_next_run_whatever_that_was_told():
    live = LiveSettings(BrokerSettings())
    live.change("brokerPermission=4\nfileReservedTime=5")
    live.change("fileReservedTime=6")
    assert live.changes == 2
    later = LiveSettings(BrokerSettings(permission=2, long_polling=False))
    later.load(live.dump())
    assert (later.current, later.store.keep_hours) == (BrokerSettings(permission=4, long_polling=False), 6)
    assert later.dump() == live.dump() == ChangedSettings({"brokerPermission": "4", "fileReservedTime": "6"})


def test_origins_are_told_by_key_and_changes_come_first():
    given = {"broker.permission": "--set", "store.keep_hours": "server.toml", "net.tls": "server.toml"}
    live = LiveSettings(BrokerSettings(permission=2), StoreSettings(keep_hours=48), given)
    assert live.origins() == {"brokerPermission": "--set", "fileReservedTime": "server.toml"}
    live.change("brokerPermission=4\nautoCreateTopicEnable=false")
    changed = "changed while it ran, changedSettings.json"
    assert live.origins() == {
        "brokerPermission": changed,
        "fileReservedTime": "server.toml",
        "autoCreateTopicEnable": changed,
    }


def test_what_is_unset_is_again_what_the_start_was_told():
    live = LiveSettings(BrokerSettings(permission=2), StoreSettings(keep_hours=48), services=[PopSettings()])
    live.change("brokerPermission=4\nfileReservedTime=5\npop.retry_percent=3", "at noon by ops")
    assert live.change("", unset=["broker.permission", "popFromRetryProbability"]) == {
        "brokerPermission",
        "popFromRetryProbability",
    }
    assert (live.current.permission, live.store.keep_hours) == (2, 5)
    assert live.section(PopSettings).current == PopSettings()
    assert live.dump() == ChangedSettings({"fileReservedTime": "5"}, {"fileReservedTime": "at noon by ops"})
    changes = live.changes
    assert live.change("", unset=["broker.permission", "longPollingEnable"]) == set()
    assert live.changes == changes


def test_what_was_unset_before_a_restart_is_what_the_next_start_is_told():
    live = LiveSettings(BrokerSettings())
    live.change("brokerPermission=4\nfileReservedTime=5")
    later = LiveSettings(BrokerSettings(permission=2))
    later.load(live.dump())
    later.change("", unset=["brokerPermission"])
    assert (later.current.permission, later.store.keep_hours) == (2, 5)


def test_changing_and_unsetting_happen_together_or_not_at_all():
    live = LiveSettings(BrokerSettings(), StoreSettings(keep_hours=48))
    live.change("brokerPermission=4")
    with pytest.raises(Refusal, match="must be"):
        live.change("fileReservedTime=-5", unset=["brokerPermission"])
    assert (live.current.permission, live.store.keep_hours) == (4, 48)
    live.change("fileReservedTime=5", unset=["brokerPermission"])
    assert (live.current.permission, live.store.keep_hours) == (6, 5)


def test_a_misspelt_name_is_told_with_what_was_meant():
    live = LiveSettings(BrokerSettings())
    for lines, unset in (("broker.permision=4", ()), ("", ("broker.permision",))):
        with pytest.raises(
            Refusal,
            match=r"broker\.permision is not a setting of this broker; did you mean broker\.permission",
        ):
            live.change(lines, unset=unset)
    with pytest.raises(Refusal, match=r"qqq is not a setting of this broker$"):
        live.change("qqq=1")


def test_origins_say_when_and_by_whom_and_the_newest_note_counts():
    live = LiveSettings(BrokerSettings())
    live.change("brokerPermission=4\nlongPollingEnable=false", "at noon by ops")
    live.change("brokerPermission=2")
    assert live.origins() == {
        "brokerPermission": "changed while it ran, changedSettings.json",
        "longPollingEnable": "changed while it ran, changedSettings.json at noon by ops",
    }
    later = LiveSettings(BrokerSettings())
    later.load(live.dump())
    assert later.origins() == live.origins()


def test_what_cannot_be_taken_over_is_logged_and_the_rest_is_in_force(caplog):
    live = LiveSettings(BrokerSettings())
    live.load(ChangedSettings({"brokerName": "other", "brokerPermission": "4"}))
    assert (live.current.name, live.current.permission) == ("broker-a", 4)
    [lost] = [record.getMessage() for record in caplog.records if record.levelname == "ERROR"]
    assert "brokerName can only be changed by a restart" in lost


def test_sections_of_services_are_changed_with_the_broker_by_either_name():
    live = LiveSettings(BrokerSettings(), services=[PopSettings(retry_percent=1)])
    section, other = live.section(PopSettings), live.section(TransactionSettings)
    assert (section.current.retry_percent, other.current) == (1, TransactionSettings())
    lines = "pop.retry_percent=2\nbroker.transaction_check_max=3\nfileReservedTime=5"
    assert live.change(lines) == {"popFromRetryProbability", "transactionCheckMax", "fileReservedTime"}
    assert (section.current.retry_percent, other.current.check_max, live.store.keep_hours) == (2, 3, 5)
    assert live.section(PopSettings) is section


def test_saved_changes_of_sections_are_in_force_in_the_next_run_also_by_old_names():
    live = LiveSettings(BrokerSettings())
    section = live.section(PopSettings)
    live.load(ChangedSettings({"broker.pop_retry_percent": "2", "popInflightMessageThreshold": "9"}))
    assert (section.current.retry_percent, section.current.out_max) == (2, 9)
    assert live.dump().settings == {"popFromRetryProbability": "2", "popInflightMessageThreshold": "9"}


def test_origins_of_sections_are_told_by_key():
    live = LiveSettings(BrokerSettings(), origins={"pop.stay_ms": "a.toml"}, services=[PopSettings()])
    assert live.origins() == {"popCkStayBufferTime": "a.toml"}
