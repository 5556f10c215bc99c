"""Options of object stores: Hadoop's names, and what becomes of them."""

import pickle

import pytest
from mqframe_spark.object_store_options import NONE, ObjectStoreOptions, parse_object_store_options

from mqframe.core.errors import SettingError

KEYS = {"fs.s3a.access.key": "AK", "fs.s3a.secret.key": "hush"}


def parsed(**given: str) -> ObjectStoreOptions:
    return parse_object_store_options(given)[0]


def test_they_are_told_from_others_whatever_their_case() -> None:
    store, rest = parse_object_store_options(
        {"FS.S3A.Endpoint": " http://h:1 ", "spark.hadoop.fs.s3a.endpoint.region": "eu-west-1", "topic": "t"}
    )
    assert rest == {"topic": "t"}
    assert store.raw() == {"fs.s3a.endpoint": "http://h:1", "fs.s3a.endpoint.region": "eu-west-1"}
    assert parse_object_store_options(store.raw()) == (store, {})
    assert parse_object_store_options({"topic": "t"}) == (NONE, {"topic": "t"})


@pytest.mark.parametrize(
    "name",
    [
        "fs.s3a.acess.key",
        "fs.s3a.endpoint.key",
        "fs.azure.account.key.a/b",
        "fs.gs.project.id",
        "spark.hadoop.fs.s3a.committer.name",
    ],
)
def test_one_that_counts_for_nothing_is_refused_without_its_value(name: str) -> None:
    with pytest.raises(SettingError, match=f"unknown option {name}: .*fs.s3a.access.key") as told:
        parsed(**{name: "hush"})
    assert "hush" not in str(told.value)


def test_keys_of_s3_come_together_and_leave_the_environment_out() -> None:
    assert parsed().s3("b").keys is None
    key = {"access_key_id": "AK", "secret_access_key": "hush", "token": None, "expires_at": None}
    assert parsed(**KEYS).s3("b").keys == key
    assert parsed(**KEYS, **{"fs.s3a.session.token": "T"}).s3("b").keys == {**key, "token": "T"}
    for name, missing in (("access", "secret"), ("secret", "access")):
        with pytest.raises(SettingError, match=rf"fs.s3a.{name}.key needs option fs.s3a.{missing}.key"):
            parsed(**{f"fs.s3a.{name}.key": "hush"}).s3("b")


def test_a_bucket_can_have_keys_of_its_own() -> None:
    options = parsed(
        **KEYS,
        **{
            "fs.s3a.bucket.my.logs.access.key": "BK",
            "fs.s3a.bucket.my.logs.secret.key": "shush",
            "fs.s3a.bucket.my.logs.endpoint.region": "eu-north-1",
        },
    )
    assert options.s3("my.logs").keys["access_key_id"] == "BK"
    assert options.s3("my.logs").values["aws_region"] == "eu-north-1"
    assert options.s3("other").keys["access_key_id"] == "AK"
    assert "aws_region" not in options.s3("other").values


@pytest.mark.parametrize(
    ("given", "made"),
    [
        ({"endpoint": "minio:9000"}, {"aws_endpoint": "https://minio:9000"}),
        ({"endpoint": "http://minio:9000/"}, {"aws_endpoint": "http://minio:9000"}),
        (
            {"endpoint": "minio:9000", "connection.ssl.enabled": "false", "path.style.access": "true"},
            {"aws_endpoint": "http://minio:9000"},
        ),
        (
            {"endpoint": "store.example", "path.style.access": "false"},
            {"aws_endpoint": "https://b.store.example", "aws_virtual_hosted_style_request": "true"},
        ),
        (
            {"endpoint": "s3.eu-central-1.amazonaws.com"},
            {"aws_endpoint": "https://s3.eu-central-1.amazonaws.com", "aws_region": "eu-central-1"},
        ),
        ({"endpoint.region": "eu-west-1"}, {"aws_region": "eu-west-1"}),
    ],
)
def test_addresses_of_s3(given: dict[str, str], made: dict[str, str]) -> None:
    values = parsed(**{f"fs.s3a.{name}": value for name, value in given.items()}).s3("b").values
    assert values == {"aws_conditional_put": "etag", **made}


def test_a_flag_that_is_none_is_named() -> None:
    with pytest.raises(SettingError, match=r"fs.s3a.path.style.access = 'maybe'"):
        parsed(**{"fs.s3a.endpoint": "h", "fs.s3a.path.style.access": "maybe"}).s3("b")


def test_keys_of_azure_are_those_of_an_account() -> None:
    options = parsed(
        **{
            "fs.azure.account.key.one.dfs.core.windows.net": "K1",
            "fs.azure.account.oauth2.client.id": "I",
            "fs.azure.account.oauth2.client.secret": "hush",
            "fs.azure.account.oauth2.client.endpoint": "https://login.microsoftonline.com/T-1/oauth2/token",
        }
    )
    client = {
        "azure_storage_client_id": "I",
        "azure_storage_client_secret": "hush",
        "azure_storage_tenant_id": "T-1",
    }
    assert options.azure("two").values == client
    assert options.azure("one").values == {"azure_storage_account_key": "K1", **client}
    with pytest.raises(SettingError, match=r"client.endpoint = 'https://x': must be https://login"):
        parsed(**{"fs.azure.account.oauth2.client.endpoint": "https://x"}).azure("one")


def test_the_key_file_of_google() -> None:
    assert parsed().gcs().values == {}
    given = parsed(**{"fs.gs.auth.service.account.json.keyfile": "/k.json"})
    assert given.gcs().values == {"google_service_account": "/k.json"}


def test_values_do_not_show_and_travel_to_tasks(monkeypatch: pytest.MonkeyPatch) -> None:
    options = parsed(**KEYS, **{"fs.s3a.endpoint": "h"})
    assert "hush" not in repr(options)
    assert pickle.loads(pickle.dumps(options)) == options
    monkeypatch.setenv("AWS_SESSION_TOKEN", "murmur")
    assert {"AK", "hush", "murmur"} <= set(options.secrets())
    assert "h" not in set(options.secrets())
