"""Bodies of users and policies, as Apache RocketMQ writes and reads them."""

from __future__ import annotations

from mqframe_admin.access.bodies import AclInfo, PolicyEntryInfo, PolicyInfo, UserInfo

from mqframe.core.wire import loose_json


def test_what_is_not_said_is_left_out() -> None:
    assert loose_json.dumps(UserInfo(username="shop")) == b'{"username":"shop"}'
    body = AclInfo([PolicyInfo([PolicyEntryInfo("Topic:a", ["Pub"], "Allow")])], "User:shop")
    text = (
        b'{"policies":[{"entries":[{"resource":"Topic:a","actions":["Pub"],"decision":"Allow"}]}],'
        b'"subject":"User:shop"}'
    )
    assert loose_json.dumps(body) == text
    assert loose_json.decode(text, AclInfo) == body


def test_a_secret_does_not_show() -> None:
    assert "s3cr3t" not in repr(UserInfo("s3cr3t", "enable", "Super", "shop"))
