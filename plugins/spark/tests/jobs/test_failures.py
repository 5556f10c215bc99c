"""What is left of Spark's long texts. The texts here are what Spark 4.3 said."""

import pytest
from mqframe_spark.jobs.failures import error_of, told

from mqframe.core.errors import FixError, GiveUpError, RetryError

PLANNER = """[PYTHON_DATA_SOURCE_ERROR] Failed to generate Python data source read partitions: Traceback (most recent call last):
  File "/site-packages/mqframe_spark/source/batch.py", line 35, in partitions
    planner.close()
  File "/site-packages/mqframe_spark/wire.py", line 80, in route
    raise FixError(
mqframe.core.errors.FixError: option topic = 'nowhere': the name server at 127.0.0.1:4 knows no such topic
 SQLSTATE: 38000
"""  # noqa: E501
CHAINED = """[STREAM_FAILED] Query [id = a27f7823, runId = 6b598ac6] terminated with exception: [PYTHON_STREAMING_DATA_SOURCE_RUNTIME_ERROR] Failed when Python streaming data source perform initialOffset: Traceback (most recent call last):
  File "/mqframe/client/consuming/puller/blocking_puller.py", line 98, in _ask_nameserver
    return self._call(address, request)
mqframe.core.errors.AnswerFix: 127.0.0.1:4 answered 17 TOPIC_NOT_EXIST: No topic route info

The above exception was the direct cause of the following exception:

Traceback (most recent call last):
  File "/mqframe_spark/wire.py", line 83, in route
    raise RouteError("x")
mqframe.core.errors.RouteError: option nameserver = '127.0.0.1:1': no name server answered
 SQLSTATE: 38000 SQLSTATE: XXKST
=== Streaming Query ===
Identifier: [id = 76135f08, runId = e9a1eb85]
"""  # noqa: E501
COLUMN = """[UNRESOLVED_COLUMN.WITH_SUGGESTION] A column, variable, or function parameter with name `colour` cannot be resolved. Did you mean one of the following? [`flag`, `body`]. SQLSTATE: 42703; line 1 pos 0;
'Filter ('colour = 3)
+- RelationV2[topic#199] mqframe
"""  # noqa: E501
SYNTAX = """
[PARSE_SYNTAX_ERROR] Syntax error at or near '='. SQLSTATE: 42601 (line 1, pos 11)

== SQL ==
queue_id = = 3
-----------^^^
"""
FORMAT = """An error occurred while calling o162.start.
: org.apache.spark.SparkClassNotFoundException: [DATA_SOURCE_NOT_FOUND] Failed to find the data source: konsole. SQLSTATE: 42K02
\tat org.apache.spark.sql.errors.QueryExecutionErrors$.dataSourceNotFoundError(QueryExecutionErrors.scala:770)
Caused by: java.lang.ClassNotFoundException: konsole.DefaultSource
\tat java.base/java.net.URLClassLoader.findClass(URLClassLoader.java:445)
"""  # noqa: E501
WORKER = """Job aborted due to stage failure: Task 0 in stage 0.0 failed 1 times: org.apache.spark.api.python.PythonException: Traceback (most recent call last):
  File "/site-packages/pyspark/worker.py", line 4327, in invoke_udf
    run_process()
  File "/home/me/pipeline.py", line 31, in <lambda>
    lambda x: 1/0
  File "/site-packages/pyspark/util.py", line 158, in wrapper
    return f(*args, **kwargs)
ZeroDivisionError: division by zero
and a second line: of it

\tat org.apache.spark.api.python.BasePythonRunner$ReaderIterator.handlePythonException(PythonRunner.scala:5)
Caused by: java.lang.RuntimeException: x
"""  # noqa: E501


@pytest.mark.parametrize(
    ("text", "kind", "wanted", "line"),
    [
        (
            PLANNER,
            "AnalysisException",
            FixError,
            "option topic = 'nowhere': the name server at 127.0.0.1:4 knows no such topic",
        ),
        (CHAINED, "", RetryError, "option nameserver = '127.0.0.1:1': no name server answered"),
        (
            COLUMN,
            "AnalysisException",
            FixError,
            "[UNRESOLVED_COLUMN.WITH_SUGGESTION] A column, variable, or function parameter with name "
            "`colour` cannot be resolved. Did you mean one of the following? [`flag`, `body`].; line 1 pos 0",
        ),
        (
            SYNTAX,
            "ParseException",
            FixError,
            "[PARSE_SYNTAX_ERROR] Syntax error at or near '='. (line 1, pos 11)",
        ),
        (
            FORMAT,
            "Py4JJavaError",
            FixError,
            "[DATA_SOURCE_NOT_FOUND] Failed to find the data source: konsole.",
        ),
        (WORKER, "", GiveUpError, "ZeroDivisionError: division by zero (pipeline.py, line 31)"),
        ("x: mqframe is not in it", "", GiveUpError, "x: mqframe is not in it"),
        ("", "", GiveUpError, "Spark gave no reason"),
    ],
    ids=["planner", "chained", "column", "syntax", "format", "worker", "plain", "nothing"],
)
def test_the_reason_is_told_in_one_line(text, kind, wanted, line) -> None:
    problem = error_of(text, kind)
    assert type(problem) is wanted
    assert str(problem) == line


def test_our_own_kinds_of_error_are_known_wherever_they_live() -> None:
    lost = "mqframe_spark.source.positions.DataLoss: messages are missing: topic t"
    assert type(error_of(lost)) is FixError
    assert type(error_of("mqframe.core.errors.StoreError: damaged")) is GiveUpError
    assert type(error_of("mqframe.core.nothing.Strange: x")) is GiveUpError
    assert type(error_of("mqframe.core.errors.CallTimeout: late")) is RetryError


def test_calls_that_spark_does_not_know_are_the_callers_to_fix() -> None:
    said = "[ATTRIBUTE_NOT_SUPPORTED] Attribute `colour` is not supported."
    problem = error_of(said, "PySparkAttributeError")
    assert (type(problem), str(problem)) == (FixError, said)


def test_a_line_that_never_ends_is_cut() -> None:
    assert told("x" * 5000) == "x" * 1000 + "…"
