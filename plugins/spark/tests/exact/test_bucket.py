"""A bucket whose answers get lost, that heeds no condition, or refuses."""

from pathlib import Path
from typing import Any

import pytest
from mqframe_spark.exact import rules as rules
from mqframe_spark.exact.bucket import PutUnknown
from mqframe_spark.exact.commit_folder import Folder
from mqframe_spark.exact.object_folder import PROBE
from mqframe_spark.object_store_options import parse_object_store_options

from mqframe.core.errors import FixError, RetryError, SettingError

RACER = Path(__file__).parent / "racing_driver.py"


def test_a_put_whose_answer_is_lost_is_known_again(s3: Any, object_folder: Folder) -> None:
    object_folder.create("0", b"probed")
    s3.next("PUT", "/1", "unanswered")
    assert object_folder.create("1", b"ours")
    s3.next("PUT", "/2", "lost", "lost", "lost")
    assert object_folder.create("2", b"ours")
    s3.next("PUT", "/3", "unanswered")
    s3.next("GET", "/3", "lost", "lost")
    assert object_folder.create("3", b"ours")
    s3.next("PUT", "/4", "lost")
    s3.bucket.put_object(Key="records/4", Body=b"theirs")
    assert not object_folder.create("4", b"ours")
    s3.next("PUT", "/5", (409, "ConditionalRequestConflict"), (503, "SlowDown"), (500, "InternalError"))
    assert object_folder.create("5", b"ours")
    assert {name: object_folder.read(name) for name in "12345"} == {
        "1": b"ours", "2": b"ours", "3": b"ours", "4": b"theirs", "5": b"ours",
    }  # fmt: skip


def test_a_put_that_nobody_knows_of_is_told_as_such(s3: Any, object_folder: Folder) -> None:
    object_folder.create("0", b"probed")
    s3.next("PUT", "/1", *["lost"] * 5)
    with pytest.raises(
        PutUnknown, match=r"it is not known whether s3://bucket-\w+/records has records/1"
    ) as told:
        object_folder.create("1", b"ours")
    assert told.value.maybe_stored
    assert isinstance(told.value, RetryError)
    assert object_folder.create("1", b"of the next driver")


def test_a_store_that_heeds_no_condition_is_refused(s3: Any, object_folder: Folder) -> None:
    s3.honest = False
    for _ in range(2):
        with pytest.raises(
            SettingError, match=r"commit record in s3://bucket-\w+/records: .* has overwritten one"
        ):
            object_folder.below("stream").create("1", b"x")
    assert set(s3.objects()) == {f"records/{PROBE}"}
    s3.honest = True
    assert s3.opened().below("stream").create("1", b"x")


def test_a_store_that_knows_no_condition_is_refused(s3: Any, object_folder: Folder) -> None:
    """As Amazon S3 did before it knew it."""
    s3.next("PUT", PROBE, (501, "NotImplemented"))
    with pytest.raises(
        SettingError, match=r"only if there is none .*and cannot \(501 .*NotImplemented: .*newer version"
    ):
        object_folder.create("1", b"x")
    assert object_folder.create("1", b"x")


def test_a_probe_that_gets_lost_is_made_again(s3: Any, object_folder: Folder) -> None:
    s3.next("PUT", PROBE, "unanswered", "lost", "served")
    assert object_folder.create("1", b"x")
    s3.honest = False
    s3.next("PUT", PROBE, "lost", "unanswered")
    with pytest.raises(SettingError, match="has overwritten one"):
        s3.opened().create("2", b"x")


def test_a_store_is_tried_out_once(s3: Any, object_folder: Folder) -> None:
    for name in "123":
        assert object_folder.below("stream").create(name, b"x")
    tried = [path for method, path in s3.requests if path.endswith(PROBE)]
    assert len(tried) == 2  # it is written, then refused
    s3.requests.clear()
    assert s3.opened().below("stream").create("4", b"x")
    assert [path for _, path in s3.requests] == [
        f"/{s3.bucket.name}/records/{PROBE}", f"/{s3.bucket.name}/records/stream/4",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("fault", "kind", "words"),
    [
        ((403, "AccessDenied"), FixError, "403 Forbidden: AccessDenied: told to say so; check the keys"),
        ((401, "Unauthorized"), FixError, "check the keys"),
        ((400, "AuthorizationHeaderMalformed"), FixError, "check address, region and bucket"),
        ((404, "NoSuchBucket"), FixError, "NoSuchBucket: told to say so; make the bucket first"),
        ((301, "PermanentRedirect"), FixError, "check address, region and bucket"),
    ],
)
def test_what_a_store_refuses_is_told(
    s3: Any, object_folder: Folder, fault: Any, kind: type, words: str
) -> None:
    object_folder.create("0", b"probed")
    for method, call in (
        ("GET", object_folder.names),
        ("GET", lambda: object_folder.read("0")),
        ("PUT", lambda: object_folder.create("1", b"x")),
    ):
        s3.next(method, s3.bucket.name, fault)
        with pytest.raises(kind, match=rf"commit record in s3://bucket-\w+/records: .*{words}"):
            call()


def test_a_bucket_that_is_not_there(s3: Any, object_folder: Folder) -> None:
    nowhere = s3.opened("s3://nowhere-at-all/records")
    for call in (nowhere.names, lambda: nowhere.read("1"), lambda: nowhere.create("1", b"x")):
        with pytest.raises(
            FixError, match=r"s3://nowhere-at-all/records: .*NoSuchBucket.*make the bucket first"
        ):
            call()


def test_a_store_that_is_away_can_be_asked_again(s3: Any, object_folder: Folder) -> None:
    away = s3.opened(**{"fs.s3a.endpoint": "127.0.0.1:1", "fs.s3a.connection.ssl.enabled": "false"})
    with pytest.raises(RetryError, match=r"s3://bucket-\w+/records: records cannot be listed: .*127.0.0.1:1"):
        away.names()


def test_secrets_show_nowhere(s3: Any, object_folder: Folder) -> None:
    secret = s3.options["fs.s3a.secret.key"]
    object_folder.create("0", b"probed")
    s3.next("GET", "/0", (403, f"Denied to {s3.options['fs.s3a.access.key']} with {secret}"))
    with pytest.raises(FixError, match=r"Denied to \*\*\* with \*\*\*") as told:
        object_folder.read("0")
    assert told.value.__suppress_context__
    given = parse_object_store_options(s3.options)[0]
    assert secret not in repr(given) + str(told.value)
