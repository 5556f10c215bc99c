"""Schemas through an administrator: set, changed by rules, shown and deleted; kept by all name servers."""

from __future__ import annotations

from typing import Any

import pytest
from message_types import files, message_class
from mqframe_schemas.admin import IncompatibleSchema, SchemasAdmin
from mqframe_schemas.rules.compatibility import Rule
from mqframe_schemas.rules.history import NAMESPACE, SchemaHead, versions_of
from mqframe_testing import Cluster
from pydantic import BaseModel

from mqframe import Admin
from mqframe.core.errors import FixError, MessageError


class First(BaseModel):
    id: int


class Second(BaseModel):
    id: int
    note: str = ""


class Breaking(BaseModel):
    id: str


@pytest.fixture
def schemas(admin: Admin) -> SchemasAdmin:
    return SchemasAdmin(admin)


def test_a_schema_s_life(schemas: SchemasAdmin) -> None:
    first = schemas.set("life", First)
    assert (first.head, first.needed().name) == (SchemaHead(1), "First")
    assert schemas.set("life", First) == first  # nothing changed
    second = schemas.set("life", Second)
    assert (second.head, len(second.versions)) == (SchemaHead(2, Rule.BACKWARD, 1, 2), 2)
    assert schemas.history("life") == second
    assert schemas.topics()["life"] == second.head
    problem = (
        "what was written by version 2 could not be read any more:"
        " $.id: it may be of type integer, which is no longer read"
    )
    assert schemas.check("life", Breaking)[0] == problem
    with pytest.raises(
        IncompatibleSchema, match=r"breaks the rule backward of topic life: what was written"
    ) as told:
        schemas.set("life", Breaking)
    assert told.value.reasons == schemas.check("life", Breaking)
    assert schemas.check("life", Breaking, rule="none") == []
    assert schemas.history("life") == second
    back = schemas.set("life", First)  # reads what the second one writes; no new number
    assert (back.head, len(back.versions)) == (SchemaHead(1, Rule.BACKWARD, 1, 3), 2)


def test_the_rule_of_a_topic_may_change(schemas: SchemasAdmin) -> None:
    schemas.set("ruled", Second, rule="forward")
    full = schemas.set("ruled", Second, rule="full")
    assert full.head == SchemaHead(1, Rule.FULL, 1, 2)
    with pytest.raises(FixError, match="no rule 'sideways'; rules: backward, forward, full, none"):
        schemas.set("ruled", Second, rule="sideways")


def test_where_the_rule_is_broken_with_intent_later_versions_are_compared_from_there(
    schemas: SchemasAdmin,
) -> None:
    schemas.set("forced", First)
    forced = schemas.set("forced", Breaking, force=True)
    assert forced.head == SchemaHead(2, Rule.BACKWARD, 2, 2)

    class Longer(Breaking):
        note: str = ""

    assert schemas.set("forced", Longer).needed().number == 3
    schemas.set("free", First, rule="none")
    assert schemas.set("free", Breaking).head == SchemaHead(2, Rule.NONE, 2, 2)


def test_a_schema_of_another_kind_breaks_every_rule(schemas: SchemasAdmin) -> None:
    schemas.set("kinds", First)
    assert schemas.check("kinds", '"int"', format="avro") == ["version 1 is of another kind"]
    schemas.set("kinds", '"int"', format="avro", force=True)
    made = message_class(files({"id": (1, "int64")}))
    schemas.set("kinds", made, force=True)
    assert [each.format for each in schemas.history("kinds").versions] == ["json", "avro", "protobuf"]
    assert schemas.schemas("kinds").codec == ("protobuf", {})


def test_what_is_deleted_is_asked_no_more_and_can_still_be_read(schemas: SchemasAdmin, admin: Admin) -> None:
    with pytest.raises(FixError, match="topic gone has no schema"):
        schemas.delete("gone")
    schemas.set("gone", First)
    schemas.delete("gone")
    assert "gone" not in schemas.topics()
    assert schemas.schemas("gone").latest.name == "First"
    with pytest.raises(FixError, match="topic gone has no schema"):
        schemas.delete("gone")
    assert schemas.set("gone", Breaking, force=True).needed().number == 2
    schemas.delete("gone", versions=True)
    assert admin.kv.list(versions_of("gone")) == {}
    with pytest.raises(
        FixError, match="topic gone has no schema; set one with: mqframe schema set gone FILE"
    ):
        schemas.schemas("gone")


def test_a_schema_that_is_too_long_for_a_header_is_not_set(schemas: SchemasAdmin) -> None:
    with pytest.raises(FixError, match=r"the schema takes 2\d{5} bytes in a request, 200000 are the most"):
        schemas.set("long", {"description": 'a"' * 24_000})
    near = {"description": 'a"' * 22_000}
    assert schemas.set("long", near).needed().number == 1
    assert schemas.history("long").needed().text.count('\\"') == 22_000


def test_names_that_no_topic_has_are_told(schemas: SchemasAdmin) -> None:
    with pytest.raises(MessageError):
        schemas.set("a topic", First)


def test_what_name_servers_say_is_put_together_and_mended(cluster: Cluster, admin: Admin) -> None:
    one = SchemasAdmin(admin)
    one.set("mended", First)
    with Cluster() as other, Admin(nameserver=f"{other.nameserver};{cluster.nameserver}") as both:
        schemas = SchemasAdmin(both)
        assert schemas.history("mended") == one.history("mended")
        assert {} in both.kv.list_each(NAMESPACE)
        second: Any = schemas.set("mended", Second)
        assert second.needed().number == 2
        with Admin(nameserver=other.nameserver) as alone:
            assert SchemasAdmin(alone).history("mended") == second
            alone.kv.delete(versions_of("mended"), "1")
            alone.kv.delete(NAMESPACE, "mended")
        assert schemas.set("mended", Second) == second
        with Admin(nameserver=other.nameserver) as alone:
            assert SchemasAdmin(alone).history("mended") == second
