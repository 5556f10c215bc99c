"""Entry points whose names are misspelt."""

from importlib.metadata import EntryPoint

from mqframe.hooks.plugin_info import misnamed


def entries(*names):
    return [EntryPoint(name, "acme", "mqframe") for name in names]


def test_a_kind_that_is_nearly_one_of_ours_and_one_without_a_name_are_told(caplog) -> None:
    found = misnamed(entries("selector.good", "send-hook.trace", "codec", "comand.x"))
    assert [(each.kind, each.name, each.problem) for each in found] == [
        ("send-hook", "trace", "there is no plugin kind 'send-hook'; did you mean send_hook?"),
        ("codec", "", "entry point 'codec' names no plugin; write codec.NAME"),
        ("comand", "x", "there is no plugin kind 'comand'; did you mean command?"),
    ]
    told = [record for record in caplog.records if "plugin cannot be chosen" in record.getMessage()]
    assert [record.levelname for record in told] == ["WARNING"] * 3
    assert misnamed(entries("comand.x")) == found[2:]
    assert len([each for each in caplog.records if "'comand'" in each.getMessage()]) == 1, "once is enough"


def test_kinds_that_are_like_none_of_ours_are_of_a_later_version(caplog) -> None:
    assert misnamed(entries("teleport.x", "storage_engine.y")) == []
    assert not caplog.records
