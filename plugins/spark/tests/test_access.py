import pickle

import pytest
from mqframe_spark.access import ACCESS_NAMES, Access, parse_access
from mqframe_spark.given import Given
from mqframe_spark.source.options import parse_options

from mqframe import NetSettings
from mqframe.core.errors import SettingError

GOOD = {"nameserver": "127.0.0.1:9876", "topic": "orders"}
KEYS = {"accessKey": "reader", "secretKey": "hidden-12345"}


@pytest.fixture
def pem(tmp_path):
    """Files that are there; their content does not matter here."""
    names = ("ca.pem", "cert.pem", "key.pem")
    for name in names:
        (tmp_path / name).write_text("")
    return tuple(str(tmp_path / name) for name in names)


def access(**given: str) -> Access:
    return parse_access(Given(given, ACCESS_NAMES))


def test_nothing_given_changes_nothing() -> None:
    assert access() == Access()
    assert access().client_arguments() == {}


def test_keys_sign_requests() -> None:
    found = access(**KEYS, securityToken=" tok ")
    assert found.client_arguments() == {
        "rpc_hooks": (
            ("acl", {"access_key": "reader", "secret_key": "hidden-12345", "security_token": "tok"}),
        )
    }
    without = access(**KEYS).client_arguments()["rpc_hooks"][0][1]
    assert without == {"access_key": "reader", "secret_key": "hidden-12345"}


def test_tls_is_a_setting_of_connections(pem) -> None:
    ca, cert, key = pem
    found = access(TLS="True", tlscafile=ca, tlsCertFile=cert, tlsKeyFile=key, tlsVerify="Chain")
    assert found.client_arguments() == {
        "net": NetSettings(tls=True, tls_verify="chain", tls_ca_file=ca, tls_cert_file=cert, tls_key_file=key)
    }
    assert access(tls="true").client_arguments()["net"].tls_verify == "full"


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"accessKey": "a"}, "option accessKey needs option secretKey"),
        ({"secretKey": "hidden"}, "option secretKey needs option accessKey"),
        ({"securityToken": "hidden"}, "option securityToken needs option accessKey"),
        ({"accessKey": "a", "secretKey": " "}, "option secretKey: is empty"),
        ({"tls": "maybe"}, "option tls = 'maybe': must be true or false"),
        ({"tlsVerify": "full"}, "option tlsVerify = 'full': has no effect without tls"),
        ({"tlsVerify": "none", "tls": "false"}, "option tlsVerify = 'none': has no effect without tls"),
        ({"tls": "true", "tlsCaFile": "/nowhere"}, "option tlsCaFile = '/nowhere': there is no such file"),
        ({"tls": "true", "tlsVerify": "some"}, "option tlsVerify = 'some': must be one of full, chain, none"),
    ],
)
def test_what_contradicts_is_refused(given, said) -> None:
    with pytest.raises(SettingError) as caught:
        access(**given)
    assert str(caught.value).startswith(said)
    assert "hidden" not in str(caught.value)


def test_certificate_and_key_come_together(pem) -> None:
    ca, cert, key = pem
    with pytest.raises(SettingError, match=r"option tlsCertFile = .*: needs option tlsKeyFile"):
        access(tls="true", tlsCertFile=cert)
    with pytest.raises(SettingError, match=r"option tlsKeyFile = .*: needs option tlsCertFile"):
        access(tls="true", tlsKeyFile=key)
    with pytest.raises(SettingError, match=r"tlsVerify = 'none' and tlsCaFile = .* contradict"):
        access(tls="true", tlsVerify="none", tlsCaFile=ca)


def test_options_carry_it_to_tasks_and_show_no_secret() -> None:
    options = parse_options({**GOOD, **KEYS, "securityToken": "hidden-token"})
    assert pickle.loads(pickle.dumps(options)).access == options.access
    assert options.access.secret_key == "hidden-12345"
    assert "hidden" not in repr(options)
    assert "reader" in repr(options)


def test_files_ask_nobody_for_access(tmp_path, monkeypatch) -> None:
    (tmp_path / "commitlog").mkdir()
    given = {"mode": "files", "path": str(tmp_path), "topic": "t", **KEYS}
    with pytest.raises(SettingError, match="option accessKey: only brokers ask for it"):
        parse_options(given)
    told = parse_options({**given, "nameserver": "h:1", "commitToGroup": "g"})
    assert told.access.access_key == "reader"


@pytest.mark.parametrize(
    "name", ["secret", "secretKy", "scretkey", "sectretkey", "token2", "password", "acceskey"]
)
def test_a_secret_under_a_wrong_name_is_not_shown(name) -> None:
    with pytest.raises(SettingError) as caught:
        parse_options({**GOOD, name: "hidden"})
    assert f"unknown option {name};" in str(caught.value)
    assert "hidden" not in str(caught.value)


@pytest.mark.parametrize("name", ["topik", "maxOffsetPerTrigger", "startOffsets", "endingTimestmp", "colums"])
def test_other_unknown_options_are_shown_with_their_values(name) -> None:
    with pytest.raises(SettingError, match=rf"unknown option {name} = 'seen'; did you mean .*\?"):
        parse_options({**GOOD, name: "seen"})
