"""Spark's reports in few numbers."""

import json

from mqframe_spark.jobs.progress import WRITTEN, BatchProgress, backlog_of, offsets, read_progress

REPORT = json.loads("""
{"id": "dc21d676", "runId": "54b9fca3", "name": null, "timestamp": "2026-11-21T15:29:35.935Z", "batchId": 1,
 "batchDuration": 403, "numInputRows": 8, "inputRowsPerSecond": 2.0, "processedRowsPerSecond": 19.9,
 "durationMs": {"addBatch": 242, "triggerExecution": 402}, "stateOperators": [],
 "sources": [{"description": "PythonMicroBatchStreamWithTriggerAvailableNow@4a2f765c",
   "startOffset": {"orders": {"broker-a/0": 3, "broker-a/1": 5}},
   "endOffset": {"orders": {"broker-a/0": 6, "broker-a/1": 10}},
   "latestOffset": {"orders": {"broker-a/0": 7, "broker-a/1": 13}},
   "numInputRows": 8}],
 "sink": {"description": "NoopTable", "numOutputRows": 8}}
""")
"""As Spark 4.3 gave it for a stream of this source."""


def test_a_report_says_rows_rate_and_what_waits() -> None:
    found = read_progress(REPORT)
    assert found == BatchProgress(batch=1, rows=8, rows_per_second=19.9, seconds=0.403, backlog=4)
    assert found.line() == "batch 1: 8 rows in 0.4 s, 20 rows/s, 4 waiting"
    assert found.row() == {
        "batch": 1,
        "rows": 8,
        "seconds": 0.403,
        "rows_per_second": 19.9,
        "backlog": 4,
    }


def test_a_source_that_does_not_tell_its_end_has_no_backlog() -> None:
    report = {**REPORT, "sources": [{"endOffset": 4, "latestOffset": None}]}
    found = read_progress(report)
    assert found.backlog is None
    assert found.line() == "batch 1: 8 rows in 0.4 s, 20 rows/s"


def test_rows_are_those_written_where_a_job_counts_them() -> None:
    report = {**REPORT, "observedMetrics": {WRITTEN: {"rows": 5}, "mine": {"rows": 7}}}
    assert read_progress(report).rows == 5
    assert read_progress({**REPORT, "observedMetrics": {"mine": {"rows": 7}}}).rows == 8


def test_backlogs_of_several_sources_add_up() -> None:
    mine = REPORT["sources"][0]
    assert read_progress({**REPORT, "sources": [mine, {"latestOffset": None}, mine]}).backlog == 8


def test_through_spark_connect_the_sources_say_how_many_rows() -> None:
    report = {name: value for name, value in REPORT.items() if name != "numInputRows"}
    assert read_progress(report).rows == 8
    assert read_progress({**report, "sources": [*REPORT["sources"], {"numInputRows": 3}]}).rows == 11


def test_a_batch_without_time_has_no_rate() -> None:
    found = read_progress({"batchId": 0, "numInputRows": 5, "sources": []})
    assert (found.rows_per_second, found.seconds, found.backlog) == (0.0, 0.0, None)


def test_a_queue_behind_the_report_does_not_count_against_the_others() -> None:
    source = {"endOffset": {"t": {"a/0": 9, "a/1": 2}}, "latestOffset": {"t": {"a/0": 7, "a/1": 5, "a/2": 4}}}
    assert backlog_of(source) == 3


def test_offsets_come_as_objects_or_as_text() -> None:
    assert offsets({"t": {"a/0": 1}}) == {("t", "a/0"): 1}
    assert offsets('{"t": {"a/0": 1}}') == {("t", "a/0"): 1}
    assert offsets({}) == {}
    for other in (None, 7, "no json", [1], {"logOffset": 3}, {"t": {"a/0": "x"}}):
        assert offsets(other) is None
