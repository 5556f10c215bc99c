"""Files are read strictly, and options count before them."""

from __future__ import annotations

import pytest
from mqframe_mirror import ClusterSettings, MirrorSettings, read_settings

from mqframe.core.errors import SettingError

FILE = """\
topics = ["orders-*"]
groups = ["billing"]
commit_seconds = 1

[from]
name = "tokyo"
nameserver = "10.0.0.9:9876"

[to]
nameserver = "10.1.0.9:9876"
access_key = "mirror"
secret_variable = "BERLIN_SECRET"
tls = true
tls_verify = "chain"
"""


def test_a_file_says_it_all() -> None:
    found = read_settings(FILE, "mirror.toml")
    assert found == MirrorSettings(
        source=ClusterSettings(name="tokyo", nameserver="10.0.0.9:9876"),
        target=ClusterSettings(
            nameserver="10.1.0.9:9876",
            access_key="mirror",
            secret_variable="BERLIN_SECRET",
            tls=True,
            tls_verify="chain",
        ),
        topics=["orders-*"],
        groups=["billing"],
        commit_seconds=1.0,
    )


def test_options_count_before_a_file() -> None:
    given = {"from": {"nameserver": "here:1"}, "topics": ["a"], "rename": "{cluster}_{topic}"}
    found = read_settings(FILE, "mirror.toml", given)
    assert (found.source.nameserver, found.source.name, found.topics) == ("here:1", "tokyo", ["a"])
    assert found.choice.target("a", "tokyo") == "tokyo_a"


def test_keys_and_tls_make_clients_that_sign_and_encrypt() -> None:
    found = read_settings(FILE, "mirror.toml")
    assert found.source.client_arguments({}) == {}
    arguments = found.target.client_arguments({"BERLIN_SECRET": "s"})
    assert arguments["rpc_hooks"] == (("acl", {"access_key": "mirror", "secret_key": "s"}),)
    assert (arguments["net"].tls, arguments["net"].tls_verify) == (True, "chain")
    with pytest.raises(SettingError, match="BERLIN_SECRET"):
        found.target.client_arguments({})


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("topics", "is no TOML"),
        ('topics = ["a"]', r"no \[from\]"),
        ('from = "a:1"', "from must be a table"),
        (FILE.replace("topics", "topic"), "topics"),
        (FILE.replace("tls_verify", "tls_verfy"), "tls_verify"),
        (FILE.replace('"tokyo"', '"to,kyo"'), "letters, digits"),
        (FILE.replace('access_key = "mirror"', ""), "belong together"),
        (FILE.replace("commit_seconds = 1", "batch_messages = 0"), "batch_messages = 0"),
        (FILE.replace("commit_seconds = 1", "commit_seconds = 0"), "commit_seconds = 0"),
        (FILE.replace("commit_seconds = 1", "settle_seconds = -1"), "settle_seconds = -1"),
        (FILE.replace("commit_seconds = 1", 'start = "middle"'), "start"),
        (FILE.replace('"orders-*"', '"%RETRY%g"'), "the system's own"),
        (FILE.replace('"10.0.0.9:9876"', '""'), "nameserver is empty"),
    ],
)
def test_what_is_wrong_is_named_with_its_place(text: str, problem: str) -> None:
    with pytest.raises(SettingError, match=problem) as refused:
        read_settings(text, "mirror.toml")
    assert "mirror.toml" in str(refused.value) or "topics:" in str(refused.value)
