"""Users of the cluster and their policies, on brokers that check who asks. Secrets are only ever written."""

from __future__ import annotations

from typing import Final

from mqframe_admin.access.bodies import AclInfo, UserInfo

from mqframe.core.errors import AnswerError
from mqframe.core.requests.refusals import is_unserved
from mqframe_dashboard.asking import NotFound
from mqframe_dashboard.changes.confirming import FIELD, check_confirmed, confirmation
from mqframe_dashboard.changes.errand import Change, Errand
from mqframe_dashboard.changes.posted import Values
from mqframe_dashboard.changes.rejection import Rejection
from mqframe_dashboard.form_parts import ChangeForm, ChoiceField, Input
from mqframe_dashboard.query import BadQuery
from mqframe_dashboard.view import Facts, Links, Note, Page, TableView, link

SUBJECT: Final = "User:"
ACTIONS: Final = ("All", "Pub", "Sub", "Create", "Update", "Delete", "Get", "List")
KINDS: Final = {"normal": "may do what policies allow", "super": "may do everything, whatever policies say"}
STATES: Final = {"enabled": "enabled", "disabled": "disabled: refused as if not known"}
DECISIONS: Final = {"allow": "allow", "deny": "deny"}


async def users_page(errand: Errand) -> Page:
    """All users, and the form for a new one."""
    rows = [
        {"user": link("user", str(each.username), name=str(each.username)), **_row(each)}
        for each in await _users(errand)
    ]
    form = ChangeForm(
        "users",
        "Create",
        [
            Input("name", "Name of a new user"),
            Input("secret", "Secret", kind="password"),
            ChoiceField("kind", "Type", KINDS, "normal"),
        ],
    )
    return Page("Users", [TableView("Users", rows, "there is no user"), form])


async def create(errand: Errand) -> Page:
    """Make a user."""
    session, values = errand.session, errand.values
    name, everything = values.needed("name"), _word(values, "kind", KINDS) == "super"
    if any(each.username == name for each in await _users(errand)):
        raise BadQuery(f"name: there is a user {name}; open its page to change it")
    secret = values.needed("secret")
    await session.do(session.admin.users.create, name, secret, everything=everything)
    return Page(f"User {name} was created", [_back(name)])


async def user_page(errand: Errand) -> Page:
    """One user with policies, and the forms that change both."""
    name = errand.values.needed("name")
    found = await _user(errand, name)
    super_user = _is(found.user_type, "super")
    change_form = ChangeForm(
        "user",
        "Change",
        [
            Input("secret", "New secret", hint="stays", kind="password"),
            ChoiceField("kind", "Type", KINDS, "super" if super_user else "normal"),
            ChoiceField(
                "state", "State", STATES, "disabled" if _is(found.user_status, "disable") else "enabled"
            ),
        ],
        {"name": name},
    )
    policy_form = ChangeForm(
        "policy",
        "Set",
        [
            Input("resource", "Resource", hint="Topic:orders, Topic:ord*, Group:*, Cluster:*, *"),
            Input("actions", "Actions", "All", ", ".join(ACTIONS)),
            ChoiceField("decision", "Decision", DECISIONS, "allow"),
            Input("sources", "From", hint="addresses or networks; empty: from everywhere"),
        ],
        {"name": name},
    )
    rows = [
        {
            "resource": entry.resource,
            "actions": ", ".join(entry.actions or ()),
            "decision": entry.decision or "",
            "from": ", ".join(entry.source_ips or ()),
            "change": link("policy-delete", "Delete…", name=name, resource=entry.resource),
        }
        for acl in await _policies(errand, name)
        for policy in acl.policies or ()
        for entry in policy.entries or ()
    ]
    return Page(
        f"User {name}",
        [
            Links([link("users", "Users"), link("user-delete", "Delete…", name=name)]),
            Facts("User", _row(found)),
            change_form,
            TableView("Policies", rows, "there is none"),
            Note("A policy counts in the place of what was said of the same resource before."),
            policy_form,
        ],
    )


async def change(errand: Errand) -> Page:
    """Change secret, type or state of a user."""
    session, values = errand.session, errand.values
    name, secret = values.needed("name"), values.text("secret")
    found = await _user(errand, name)
    everything = _word(values, "kind", KINDS) == "super"
    enabled = _word(values, "state", STATES) == "enabled"
    await session.do(
        session.admin.users.update,
        name,
        secret=secret or None,
        # What stays is not said: to say it of others takes more than to change the rest.
        everything=None if everything == _is(found.user_type, "super") else everything,
        enabled=None if enabled != _is(found.user_status, "disable") else enabled,
    )
    notes = [Note("You changed your own secret: sign in again.")] if secret and name == session.user else []
    return Page(f"User {name} was changed", [*notes, _back(name)])


async def delete_page(errand: Errand) -> Page:
    """The form that deletes a user."""
    name = errand.values.needed("name")
    await _user(errand, name)
    form = ChangeForm("user-delete", "Delete", [confirmation("user")], {"name": name})
    return Page(f"Delete user {name}", [Note("All policies go with the user.", wrong=True), form])


async def delete(errand: Errand) -> Page:
    """Delete a user."""
    session, name = errand.session, errand.values.needed("name")
    check_confirmed(errand.values, name)
    await _user(errand, name)
    await session.do(session.admin.users.delete, name)
    return Page(f"User {name} was deleted", [Links([link("users", "Users")])])


async def set_policy(errand: Errand) -> Page:
    """Say what a user may do with a resource."""
    session, values = errand.session, errand.values
    name, resource = values.needed("name"), values.needed("resource")
    actions = _list(values.text("actions")) or ["All"]
    wrong = [each for each in actions if each not in ACTIONS]
    if wrong:
        raise BadQuery(f"actions: {wrong[0]!r} is none of {', '.join(ACTIONS)}")
    allow = _word(values, "decision", DECISIONS) == "allow"
    sources = _list(values.text("sources"))
    await session.do(
        session.admin.policies.set, name, [resource], actions=actions, allow=allow, sources=sources
    )
    said = f"{'allowed' if allow else 'denied'}: {', '.join(actions)} on {resource}"
    return Page(f"User {name} was changed", [Note(said), _back(name)])


async def policy_page(errand: Errand) -> Page:
    """The page of the user, on which policies are."""
    return await user_page(errand)


async def forget_page(errand: Errand) -> Page:
    """The form that deletes a policy."""
    name, resource = errand.values.needed("name"), errand.values.needed("resource")
    form = ChangeForm("policy-delete", "Delete", (), {"name": name, "resource": resource})
    return Page(f"Delete what is said of {resource}", [Note(f"User {name}"), form, _back(name)])


async def forget(errand: Errand) -> Page:
    """Take what is said of a resource from a user."""
    session, values = errand.session, errand.values
    name, resource = values.needed("name"), values.needed("resource")
    await session.do(session.admin.policies.delete, name, resource)
    return Page(f"User {name} was changed", [Note(f"nothing is said of {resource} any more"), _back(name)])


def secrets(values: Values) -> list[str]:
    """The secret of a user."""
    return [values.text("secret")]


_POLICY: Final = ("name", "resource", "actions", "decision", "sources")
CHANGES: Final = (
    Change("/users", users_page, create, ("name", "kind"), secrets),
    Change("/user", user_page, change, ("name", "kind", "state"), secrets),
    Change("/user-delete", delete_page, delete, ("name", FIELD)),
    Change("/policy", policy_page, set_policy, _POLICY),
    Change("/policy-delete", forget_page, forget, ("name", "resource")),
)


async def _users(errand: Errand) -> list[UserInfo]:
    """All users, as the broker tells them to who is signed in. Raises `Rejection` where it keeps none."""
    try:
        return await errand.session.do(errand.session.admin.users.list)
    except AnswerError as problem:
        if is_unserved(problem):
            raise Rejection(
                404, "There are no users here", "the brokers of this cluster do not check who asks"
            ) from None
        raise


async def _user(errand: Errand, name: str) -> UserInfo:
    for each in await _users(errand):
        if each.username == name:
            return each
    raise NotFound(f"there is no user {name}")


async def _policies(errand: Errand, name: str) -> list[AclInfo]:
    found = await errand.session.do(errand.session.admin.policies.list, name)
    return [each for each in found if each.subject == SUBJECT + name]


def _row(user: UserInfo) -> dict[str, object]:
    return {"type": user.user_type or "", "status": user.user_status or ""}


def _is(word: str | None, wanted: str) -> bool:
    return (word or "").lower() == wanted


def _word(values: Values, name: str, known: dict[str, str]) -> str:
    word = values.text(name)
    if word not in known:
        raise BadQuery(f"{name}: {word!r} is none of {', '.join(known)}")
    return word


def _list(text: str) -> list[str]:
    return [part for part in text.replace(",", " ").split() if part]


def _back(name: str) -> Links:
    return Links([link("user", f"User {name}", name=name), link("users", "Users")])
