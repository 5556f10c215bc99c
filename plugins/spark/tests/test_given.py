import pytest
from mqframe_spark.given import Given

from mqframe.core.errors import SettingError

NAMES = ("nameserver", "topic", "topics", "group", "minPartitions", "failOnDataLoss", "secretKey")


def given(**values: str) -> Given:
    return Given(values, NAMES)


def test_the_case_of_names_does_not_count() -> None:
    found = given(MINPARTITIONS="4")
    assert (found.get("minPartitions"), found.number("minpartitions"), found.get("topic")) == ("4", 4, None)


def test_an_unknown_option_is_shown_with_all_that_there_are() -> None:
    with pytest.raises(SettingError, match="colour = 'red'; options of mqframe: nameserver, topic"):
        given(colour="red")


@pytest.mark.parametrize("name", ["secretKye", "accesKey", "password", "my.jaas.config"])
def test_the_value_of_a_misspelt_secret_is_not_shown(name: str) -> None:
    with pytest.raises(SettingError, match=name.lower()) as caught:
        Given({name: "12345678"}, NAMES)
    assert "12345678" not in str(caught.value)


@pytest.mark.parametrize("value", ["0", "-1", "1.5", "", "many"])
def test_no_number_above_zero(value: str) -> None:
    with pytest.raises(SettingError, match=f"minPartitions = '{value}': must be a whole number above 0"):
        given(minPartitions=value).number("minPartitions")


@pytest.mark.parametrize(("value", "flag"), [("true", True), (" FALSE ", False)])
def test_flags(value: str, flag: bool) -> None:
    assert given(failOnDataLoss=value).flag("failOnDataLoss", default=not flag) is flag
    assert given().flag("failOnDataLoss", default=flag) is flag


def test_no_flag() -> None:
    with pytest.raises(SettingError, match="failOnDataLoss = 'yes': must be true or false"):
        given(failOnDataLoss="yes").flag("failOnDataLoss", default=True)


def test_groups() -> None:
    assert given().group("group", "TOOLS") == "TOOLS"
    assert given(group="billing").group("group", "TOOLS") == "billing"
    with pytest.raises(SettingError, match="option group = 'a b'"):
        given(group="a b").group("group", "TOOLS")


def test_one_of_several() -> None:
    assert given(topics="a,b").one_of("topic", "topics") == "topics"
    assert given().one_of("topic", "topics") is None
    with pytest.raises(SettingError, match="options topic and topics contradict each other"):
        given(topic="a", topics="b").one_of("topic", "topics")


def test_the_environment_stands_in_for_name_servers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NAMESRV_ADDR", "10.0.0.1:9876")
    assert given().nameserver() == "10.0.0.1:9876"
    assert given(nameserver="a:1;b:2").nameserver() == "a:1;b:2"
    with pytest.raises(SettingError, match="option nameserver = 'nowhere'"):
        given(nameserver="nowhere").nameserver()
