import pytest
from mqframe_spark.options import SourceOptions, parse_options

from mqframe.core.errors import SettingError

GOOD = {"nameserver": "127.0.0.1:9876", "topic": "orders"}


def test_names_count_without_regard_to_case() -> None:
    given = {
        "NameServer": "h:1, i:2",
        "TOPIC": "orders",
        "startingoffsets": "Latest",
        "MAXOFFSETSPERTRIGGER": "10",
        "group": "g",
    }
    assert parse_options(given) == SourceOptions("h:1;i:2", "orders", "latest", 10, "g")


def test_defaults(monkeypatch) -> None:
    monkeypatch.setenv("NAMESRV_ADDR", "n:9876")
    assert parse_options({"topic": "orders"}) == SourceOptions(
        "n:9876", "orders", "earliest", None, "TOOLS_CONSUMER"
    )


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"topics": "x"}, "unknown option topics = 'x'; options of mqframe: nameserver, topic"),
        ({"path": "/x"}, "unknown option path = '/x'"),
        ({"topic": None}, "option topic is missing"),
        ({"topic": "a b"}, "option topic = 'a b'"),
        ({"topic": ""}, "option topic = ''"),
        ({"nameserver": "nowhere"}, "option nameserver = 'nowhere'.*not host:port"),
        ({"nameserver": None}, "option nameserver = ''.*NAMESRV_ADDR"),
        ({"startingOffsets": "soon"}, "option startingOffsets = 'soon': must be earliest or latest"),
        ({"maxOffsetsPerTrigger": "0"}, "option maxOffsetsPerTrigger = '0'"),
        ({"maxOffsetsPerTrigger": "1e3"}, "option maxOffsetsPerTrigger = '1e3'"),
        ({"group": "a b"}, "option group = 'a b'"),
    ],
)
def test_what_is_wrong_is_named_with_its_value(change, said, monkeypatch) -> None:
    monkeypatch.delenv("NAMESRV_ADDR", raising=False)
    given = {name: value for name, value in {**GOOD, **change}.items() if value is not None}
    with pytest.raises(SettingError, match=said):
        parse_options(given)
