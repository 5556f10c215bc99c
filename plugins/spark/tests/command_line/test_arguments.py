"""What was typed, as options."""

import pytest
from mqframe_spark.command_line.arguments import pairs, source_options

from mqframe.core.errors import SettingError


def test_pairs_keep_all_behind_the_first_equals_sign() -> None:
    assert pairs("--conf", ["a=1", " b =x=y", "c="]) == {"a": "1", "b": "x=y", "c": ""}
    assert pairs("--conf", None) == {}


@pytest.mark.parametrize("text", ["a", "=1", " =1"])
def test_what_is_no_pair_is_named(text) -> None:
    with pytest.raises(SettingError, match=f"^--conf {text}: must be written key=value"):
        pairs("--conf", [text])


def test_options_come_from_all_three_places(tmp_path) -> None:
    file = tmp_path / "access.toml"
    file.write_text('accessKey = "a"\nsecretKey = "s=1"\ntls = true\nmaxOffsetsPerTrigger = 5\n')
    found = source_options(["tags=a || b"], str(file), topic="t", path="", nameserver="n:1")
    assert found == {
        "topic": "t", "nameserver": "n:1", "tags": "a || b", "accessKey": "a", "secretKey": "s=1",
        "tls": "true", "maxOffsetsPerTrigger": "5",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("given", "content", "said"),
    [
        (["TOPIC=u"], "", "--option: TOPIC is given twice"),
        (["tags=a"], 'Tags = "b"', r"--options-file .*access.toml: Tags is given twice"),
        ([], "tags = [1]", "tags: must be a text, a number, true or false"),
        ([], "tags = ", r"--options-file .*access.toml: "),
    ],
)
def test_what_contradicts_itself_or_cannot_be_read_is_named(tmp_path, given, content, said) -> None:
    file = tmp_path / "access.toml"
    file.write_text(content)
    with pytest.raises(SettingError, match=said):
        source_options(given, str(file), topic="t")


def test_a_file_that_is_not_there_is_named() -> None:
    with pytest.raises(SettingError, match="--options-file /no/such: No such file"):
        source_options([], "/no/such")
