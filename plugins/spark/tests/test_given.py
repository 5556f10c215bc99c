from typing import Literal

import pytest
from mqframe_spark.given import Given, group_name, if_any, option_names

from mqframe.core.config.settings import at_least, setting, settings
from mqframe.core.errors import SettingError


def _bad(text: str) -> str:
    return "is bad" if text else ""


@settings("example")
class Example:
    """Options of every type."""

    min_partitions: int | None = setting(None, doc="a number", check=if_any(at_least(1)))
    fail_on_data_loss: bool = setting(True, doc="a flag")
    mode: Literal["broker", "files"] = setting("broker", doc="a word")
    group: str = setting("", doc="a text with a rule", from_conf=group_name)
    bits: int = setting(0, doc="written in another way", from_conf=lambda text: int(text, 2))
    secret_key: str = setting("", doc="a secret", secret=True, check=_bad)
    inner: tuple[str, ...] = ()


NAMES = (*option_names(Example), "topic", "topics", "nameserver")


def given(**values: str) -> Given:
    return Given(values, NAMES, "the example")


def test_fields_that_say_what_they_mean_are_options() -> None:
    assert option_names(Example) == (
        "minPartitions", "failOnDataLoss", "mode", "group", "bits", "secretKey",
    )  # fmt: skip


def test_what_was_given_gets_the_type_of_its_field_whatever_the_case_of_its_name() -> None:
    found = given(
        MINPARTITIONS=" 4", failondataloss=" FALSE ", Mode="Files", group="g", bits="101", topic="t"
    )
    assert found.read(Example) == {
        "min_partitions": 4, "fail_on_data_loss": False, "mode": "files", "group": "g", "bits": 5,
    }  # fmt: skip
    assert (found.get("TOPIC"), found.get("topics")) == ("t", None)
    assert given().read(Example) == {}


@pytest.mark.parametrize(
    ("name", "value", "problem"),
    [
        ("minPartitions", "0", "must be at least 1"),
        ("minPartitions", "1.5", "must be a whole number"),
        ("minPartitions", "", "must be a whole number"),
        ("failOnDataLoss", "maybe", "must be true or false"),
        ("mode", "fast", "must be one of broker, files"),
        ("group", "a b", ""),
        ("bits", "12", "invalid literal"),
    ],
)
def test_bad_values_are_shown_with_what_is_wrong(name: str, value: str, problem: str) -> None:
    with pytest.raises(SettingError) as caught:
        given(**{name: value}).read(Example)
    assert str(caught.value).startswith(f"option {name} = {value!r}: {problem}")


def test_a_bad_secret_is_not_shown() -> None:
    with pytest.raises(SettingError, match=r"^option secretKey: is bad$"):
        given(secretKey="hidden").read(Example)


def test_an_unknown_option_is_shown_as_it_was_written_with_what_was_probably_meant() -> None:
    with pytest.raises(
        SettingError, match=r"unknown option minPartition = '4'; did you mean minPartitions\?$"
    ):
        given(minPartition="4")
    with pytest.raises(SettingError, match="colour = 'red'; options of the example: minPartitions, failOn"):
        given(colour="red")


@pytest.mark.parametrize("name", ["secretKye", "accesKey", "password", "my.jaas.config"])
def test_the_value_of_a_misspelt_secret_is_not_shown(name: str) -> None:
    with pytest.raises(SettingError, match=name) as caught:
        Given({name: "12345678"}, NAMES)
    assert "12345678" not in str(caught.value)


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
