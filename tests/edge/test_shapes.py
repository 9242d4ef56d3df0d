# SPDX-License-Identifier: Apache-2.0
"""simulate reads Karpenter's log however shippers, services and people have
wrapped it: the record of each shape is the record of the plain log."""
import csv
import gzip
import io
import json
import datetime
import resource

import pytest

from test_commands import holderctl as run  # noqa: F401
from test_simulate import LOG, START, boot, decide, line

MANY = [{"Node": {"name": f"node-{n}"}, "NodeClaim": {"name": f"web-{n:05}"}}
        for n in range(150)]
LARGE = line(900, "disrupting node(s)", "disruption", **{
    "command": "Empty/1: delete: nodepools=[web]: [] (savings: $1.00)",
    "decision": "delete", "pod-count": 0, "disrupted-nodes": MANY})
LINES = sorted([*LOG, LARGE], key=lambda text: json.loads(text)["time"])


def dumps(v, **how):
    return json.dumps(v, separators=(",", ":"), **how)


def lines(each):
    return "\n".join(each) + "\n"


def when(text):
    return json.loads(text)["time"]


def moment(text):
    return datetime.datetime.fromisoformat(when(text).replace("Z", "+00:00"))


def ms(text):
    return int(moment(text).timestamp() * 1000)


def ns(text):
    return str(ms(text) * 1000000)


def later(text, by):
    return (moment(text) + datetime.timedelta(milliseconds=by)).strftime(
        "%Y-%m-%dT%H:%M:%S.%fZ")


def spaced(text):
    return moment(text).strftime("%Y-%m-%d %H:%M:%S.%f")[:-3]


def timeless(text):
    return {k: v for k, v in json.loads(text).items() if k != "time"}


def wrap(**more):
    """One JSON object a line, whose members are functions of the line."""
    return lambda: lines(dumps({k: v(t) if callable(v) else v
                                for k, v in more.items()}) for t in LINES)


def same(text):
    return text


def cut(text, n=1024):
    return [text[i:i + n] for i in range(0, len(text), n)]


def pieces(write):
    """Each line in pieces: write(line, piece, whether it is the last)."""
    def make():
        out = []
        for text in LINES:
            parts = cut(text)
            out += [write(text, part, i == len(parts) - 1)
                    for i, part in enumerate(parts)]
        return lines(out)
    return make


def alternating():
    """Pieces of two pods in turn; one of them never comes to its end."""
    out = []
    for text in LINES:
        parts = cut(text)
        for i, part in enumerate(parts):
            last = i == len(parts) - 1
            out.append(dumps({"log": part, "_p": "F" if last else "P",
                              "kubernetes": {"pod_name": "karpenter-one"}}))
            if not last:
                out.append(dumps({"log": '{"message":"' if i == 0 else "x" * 40,
                                  "_p": "P",
                                  "kubernetes": {"pod_name": "karpenter-two"}}))
    return lines(out)


def among(write):
    """Pieces with a line of another pod behind each: write(text, pod, last)."""
    def make():
        out = []
        for text in LINES:
            parts = cut(text, 37)
            for i, part in enumerate(parts):
                out.append(write(part, "karpenter", i == len(parts) - 1))
                out.append(write("GET /healthz 200", "nginx-65bc", True))
        return lines(out)
    return make


def table(rows, **how):
    out = io.StringIO()
    csv.writer(out, lineterminator="\n", **how).writerows(rows)
    return out.getvalue()


def member_rows(**how):
    """A table whose columns are the members."""
    each = [json.loads(stringly(t, ".")) for t in LINES]
    names = list(dict.fromkeys(k for v in each for k in v))
    return table([names, *([v.get(k, "") for k in names] for v in each)], **how)


def newest_first(marked, n=1024):
    """marked(line, piece, "P" or "F") of all pieces, the last one first."""
    return [marked(t, part, "P" if i else "F")
            for t in reversed(LINES)
            for i, part in enumerate(reversed(cut(t, n)))]


def cri(text, part, mark):
    return f"{when(text)} stdout {mark} {part}"


def loki(values, large=False):
    """An answer, whose other lines may make it larger than what is sorted."""
    other = [[values[0][0], "GET /healthz 200 " + "x" * 900]] * 1300 * large
    half = len(values) // 2
    return dumps({"status": "success", "data": {
        "resultType": "streams", "result": [{"stream": {"app": "karpenter"},
                                             "values": values[:half] + other +
                                             values[half:]}]}})


def any_value(v):
    if isinstance(v, dict):
        return {"kvlistValue": {"values": pairs(v)}}
    if isinstance(v, list):
        return {"arrayValue": {"values": [any_value(x) for x in v]}}
    return {"intValue": str(v)} if isinstance(v, int) else {"stringValue": v}


def pairs(v):
    return [{"key": k, "value": any_value(x)} for k, x in v.items()]


def otel(record):
    return lambda: dumps({"resourceLogs": [{
        "resource": {"attributes": pairs({"k8s.pod.name": "karpenter"})},
        "scopeLogs": [{"scope": {}, "logRecords": [
            {"timeUnixNano": ns(t), "observedTimeUnixNano": ns(t)[:-9] +
             "999999999", "severityText": "INFO", **record(t)}
            for t in LINES]}]}]})


def split(text):
    """The message, and the other members."""
    rest = json.loads(text)
    return rest.pop("message"), rest


def datadog(text):
    message, rest = split(text)
    return {"id": "AQ", "type": "log", "attributes": {
        "attributes": rest, "message": message, "service": "karpenter",
        "status": "info", "tags": ["a:b"], "timestamp": when(text)}}


def zap(text):
    message, rest = split(text)
    return "\t".join([rest.pop("time"), rest.pop("level"),
                      rest.pop("logger"), message, dumps(rest)])


def flat(text):
    v = json.loads(text)
    return {**v, **{f"{k}.name": v.pop(k)["name"] for k in
                    ("NodeClaim", "NodePool", "Node") if k in v}}


def stringly(text, *others):
    """What is no string becomes one, and the keys have '_' for these."""
    v = {}
    for k, x in (flat(text) if "." in others else json.loads(text)).items():
        for other in others:
            k = k.replace(other, "_")
        v[k] = x if isinstance(x, str) else dumps(x)
    return dumps(v)


def level(text, depth):
    """The line in so many objects, in turn as a value and as a string."""
    v = json.loads(text)
    for i in range(depth):
        v = {"in": v if i % 2 else dumps(v)}
    return dumps(v)


def azure_table(times):
    """A table with the time behind the line, and each row so many times."""
    return dumps({"tables": [{"name": "PrimaryResult", "rows": [
        [dumps(timeless(t)), when(t)] for t in LINES for _ in range(times)]}]})


SHAPES = {
    "plain": lambda: lines(LINES),
    "crlf": lambda: "\r\n".join(LINES) + "\r\n",
    "mark": lambda: "\ufeff" + lines(LINES),
    "no-newline-at-the-end": lambda: "\n".join(LINES),
    "newest-first": lambda: lines(reversed(LINES)),
    "side-by-side": lambda: "".join(LINES),
    "side-by-side-with-spaces": lambda: " ".join(LINES),
    "commas": lambda: ",\n".join(LINES),
    "indented": lambda: lines(json.dumps(json.loads(t), indent=2)
                              for t in LINES),
    "array": lambda: dumps([json.loads(t) for t in LINES]),
    "array-of-lines": lambda: "[\n" + ",\n".join(LINES) + "\n]\n",
    "array-indented": lambda: json.dumps([json.loads(t) for t in LINES],
                                         indent=4),
    "array-of-strings": lambda: json.dumps(LINES, indent=2),
    "strings": lambda: lines(json.dumps(t) for t in LINES),
    "colors": lambda: lines(f"\x1b[36mkarpenter-1\x1b[0m {t}" for t in LINES),
    "colored-json": lambda: lines(
        t.replace(":", "\x1b[0m:\x1b[1;39m") if "time" not in t else
        "\x1b[1;39m" + t.replace(",", "\x1b[0m,\x1b[34;1m") for t in LINES),
    "deep": lambda: lines(level(t, 8) for t in LINES),
    # kubectl, stern, syslog
    "prefix": lambda: lines(f"[pod/karpenter-7d4/controller] {t}"
                            for t in LINES),
    "prefix-and-time": lambda: lines(
        f"[pod/karpenter-7d4/controller] {when(t)} {t}" for t in LINES),
    "stern": lambda: lines(f"+ karpenter-7d4 › controller {t}" for t in LINES),
    "stern-json": wrap(message=same, nodeName="node-9", namespace="karpenter",
                       podName="karpenter-7d4", containerName="controller"),
    "stern-raw-time": lambda: lines(f"{when(t)} {dumps(timeless(t))}"
                                    for t in LINES),
    "syslog": lambda: lines(f"<14>1 {when(t)} host karpenter 1 - - {t}"
                            for t in LINES),
    "syslog-old": lambda: lines(f"Mar  2 10:00:00 host karpenter[1]: {t}"
                                for t in LINES),
    "logfmt": lambda: lines(f"ts={when(t)} stream=stdout "
                            f"msg={json.dumps(dumps(timeless(t)))}"
                            for t in LINES),
    "aws-logs-tail": lambda: lines(f"{when(t)} stream/name {t}"
                                   for t in LINES),
    "zap-console": lambda: lines(map(zap, LINES)),
    # container runtimes
    "cri": lambda: lines(f"{when(t)[:-1]}.123456789Z stdout F {t}"
                         for t in LINES),
    "cri-pieces": pieces(lambda t, part, last: (
        f"2026-03-02T10:00:00.123456789+01:00 stderr {'F' if last else 'P'} "
        + part)),
    "cri-behind-a-pod": lambda: lines(f"{when(t)} stdout F {t}"
                                      for t in LINES),
    "docker": wrap(log=lambda t: t + "\n", stream="stdout", time=when),
    "docker-pieces": pieces(lambda t, part, last: dumps({
        "log": part + ("\n" if last else ""), "stream": "stdout",
        "time": when(t)})),
    "journald": wrap(MESSAGE=same, PRIORITY="6", _HOSTNAME="node",
                     __REALTIME_TIMESTAMP=lambda t: str(ms(t) * 1000)),
    "journald-bytes": wrap(MESSAGE=lambda t: list(t.encode()),
                           _HOSTNAME="node"),
    "journald-pieces": pieces(lambda t, part, last: dumps({
        "MESSAGE": part, "CONTAINER_PARTIAL_MESSAGE": str(not last).lower(),
        "__REALTIME_TIMESTAMP": str(ms(t) * 1000)})),
    # Fluent Bit, Fluentd, Vector, Promtail
    "fluentbit": wrap(time=when, stream="stdout", _p="F", log=same),
    "fluentbit-kept": wrap(log=same, log_processed=json.loads,
                           kubernetes={"pod_name": "k"}),
    # The line and its members, which have the time when they were read.
    "fluentbit-kept-without-time": wrap(
        time=lambda t: later(t, 3), log=same, log_processed=timeless),
    "fluentbit-kept-before": wrap(
        time=lambda t: later(t, 900), a=timeless, log=same),
    "fluentbit-kept-deep": wrap(time=lambda t: later(t, 3), raw=lambda t: [t],
                                more=lambda t: {"parsed": timeless(t)}),
    "lines-in-a-string": wrap(log=lambda t: t + "\n" + t),
    "fluentbit-tag": lambda: lines(
        f"[{ms(t) / 1000}, {dumps({'log': t})}]" for t in LINES),
    "fluentbit-stdout": lambda: lines(
        f'[0] kube.x: [[{ms(t) / 1000}, {{}}], {dumps({"log": t})}]'
        for t in LINES),
    "fluentbit-nested": wrap(kubernetes={"pod_name": "k"}, data=json.loads),
    "fluentbit-pieces": pieces(lambda t, part, last: dumps({
        "time": when(t), "stream": "stdout", "logtag": "F" if last else "P",
        "log": part, "kubernetes": {"pod_name": "karpenter"}})),
    "alternating-pieces": alternating,
    "fluentbit-pieces-among-others": among(lambda part, pod, last: dumps({
        "_p": "F" if last else "P", "log": part,
        "kubernetes": {"pod_name": pod}})),
    "logtag-pieces-among-others": among(lambda part, pod, last: dumps({
        "logtag": "F" if last else "P", "log": part, "pod": "any"})),
    "vector-pieces-among-others": among(lambda part, pod, last: dumps({
        "message": part, "kubernetes": {"pod_name": pod}})),
    "small-pieces": lambda: lines(
        dumps({"log": part, "time": when(t)}) for t in LINES
        for part in cut(t, 37)),
    "fluentd": lambda: lines(f"{when(t)}\tkube.x\t{dumps({'log': t})}"
                             for t in LINES),
    "fluentd-pieces": pieces(lambda t, part, last: dumps({
        "log": part, "partial_message": "true", "partial_id": "abc",
        "partial_last": str(last).lower(), "container_name": "/k"})),
    "vector": wrap(file="/var/log/pods/x", message=same, timestamp=when,
                   source_type="kubernetes_logs", kubernetes={"pod_ip": "1"}),
    "logstash": lambda: lines(dumps({"@timestamp": when(t), "@version": "1",
                                     **timeless(t)}) for t in LINES),
    "renamed": lambda: lines(
        dumps(json.loads(t)).replace('"message"', '"msg"') for t in LINES),
    "stringified": lambda: lines(stringly(t) for t in LINES),
    "keys-of-elastic": lambda: lines(stringly(t, "-") for t in LINES),
    "keys-of-loki": lambda: lines(stringly(t, "-", ".") for t in LINES),
    "flattened": lambda: lines(dumps(flat(t)) for t in LINES),
    # Loki, Grafana
    "loki": lambda: dumps({"status": "success", "data": {
        "resultType": "streams", "result": [
            {"stream": {"app": "karpenter"},
             "values": [[ns(t), t] for t in LINES]}], "stats": {}}}),
    "loki-without-time": lambda: dumps({"streams": [
        {"stream": {}, "values": [[ns(t), dumps(timeless(t))]
                                  for t in LINES]}]}),
    "logcli": wrap(labels={"app": "karpenter"}, line=same, timestamp=when),
    "logcli-default": lambda: lines(
        f'{when(t)} {{app="karpenter", level="INFO"}} {t}' for t in LINES),
    "grafana-csv": lambda: table(
        [["Time", "Line", "tsNs", "id"],
         *([ms(t), t, ns(t), "x"] for t in LINES)], quoting=csv.QUOTE_ALL),
    "grafana-csv-without-time": lambda: table(
        [["Time", "Line"], *([ms(t), dumps(timeless(t))] for t in LINES)],
        quoting=csv.QUOTE_ALL),
    "grafana-frames": lambda: dumps({"results": {"A": {"frames": [{
        "schema": {"fields": [{"name": "Time"}, {"name": "Line"}]},
        "data": {"values": [[ms(t) for t in LINES], LINES]}}]}}}),
    "csv-pieces": lambda: table(
        [["Time", "Line", "tsNs", "id"],
         *([ms(t), cri(t, part, "F" if part is parts[-1] else "P"), ns(t),
            f"{ns(t)}_{i:08x}"] for t in LINES for parts in [cut(t, 300)]
           for i, part in enumerate(parts))], quoting=csv.QUOTE_ALL),
    "csv-pieces-with-marks": lambda: table(
        [["@timestamp", "log", "_p"],
         *([spaced(t), part, "F" if part is parts[-1] else "P"]
           for t in LINES for parts in [cut(t)] for part in parts)]),
    "csv-pieces-newest-first": lambda: table(
        [["Time", "Line", "tsNs", "id"], *newest_first(lambda t, part, mark: [
            ms(t), cri(t, part, mark), ns(t), f"{ns(t)}_{mark}"])]),
    "csv-without-header": lambda: table([spaced(t), t] for t in LINES),
    "csv-one-column": lambda: table([["_raw"], *([t] for t in LINES)]),
    "csv-semicolons": lambda: table(
        [["Zeit", "Zeile"], *([spaced(t), dumps(timeless(t))] for t in LINES)],
        delimiter=";"),
    "tsv-members": lambda: member_rows(delimiter="\t"),
    "csv-members": member_rows,
    "csv-members-quoted": lambda: member_rows(quoting=csv.QUOTE_ALL),
    "loki-pieces-newest-first": lambda: loki(newest_first(
        lambda t, part, mark: [ns(t), cri(t, part, mark)])),
    "loki-pieces-newest-first-large": lambda: loki(newest_first(
        lambda t, part, mark: [ns(t), cri(t, part, mark)]), True),
    "loki-pieces-large": lambda: loki([
        [ns(t), cri(t, part, mark)] for t in LINES
        for part, mark in zip(cut(t), [*"P" * (len(cut(t)) - 1), "F"])], True),
    "grafana-pieces-newest-first": lambda: json.dumps(newest_first(
        lambda t, part, mark: {"line": dumps({"log": part, "_p": mark}),
                               "timestamp": ns(t), "date": when(t)}),
        indent=2),
    "logtag-newest-first": lambda: lines(newest_first(
        lambda t, part, mark: dumps({"log": part, "logtag": mark,
                                     "time": when(t), "stream": "stdout"}),
        200)),
    # Amazon
    "insights-csv": lambda: table(
        [["@timestamp", "@message"], *([spaced(t), t] for t in LINES)]),
    "insights-csv-time-behind": lambda: table(
        [["@message", "@timestamp"],
         *([dumps(timeless(t)), spaced(t)] for t in LINES)]),
    "insights-csv-wrapped": lambda: table(
        [["@timestamp", "@message"],
         *([spaced(t), dumps({"log": t, "stream": "stdout"})]
           for t in LINES)]),
    "query-results": lambda: json.dumps({"results": [[
        {"field": "@timestamp", "value": spaced(t)},
        {"field": "@message", "value": dumps(timeless(t))},
        {"field": "@ptr", "value": "C"}] for t in LINES],
        "statistics": {}, "status": "Complete"}, indent=4),
    "filter-log-events": lambda: json.dumps({"events": [
        {"logStreamName": "s", "timestamp": ms(t), "ingestionTime":
         ms(t) + 900, "message": dumps(timeless(t)), "eventId": "3"}
        for t in LINES], "searchedLogStreams": []}, indent=4),
    "subscription": lambda: "".join(dumps({
        "messageType": "DATA_MESSAGE", "owner": "1", "logGroup": "g",
        "logEvents": [{"id": "1", "timestamp": ms(t), "message": dumps(
            {"log": t})}]}) for t in LINES),
    "eks-auto": lambda: lines(dumps({"event_timestamp": ms(t), **timeless(t)})
                              for t in LINES),
    "cut-by-cloudwatch": lambda: dumps({"events": [
        {"timestamp": ms(t), "message": part, "eventId": str(ms(t))}
        for t in LINES for part in cut(t)]}),
    # Google, Azure
    "gcp-text": wrap(insertId="a", textPayload=same, timestamp=when,
                     receiveTimestamp="2026-03-09T00:00:00Z"),
    "gcp-json": lambda: json.dumps([
        {"insertId": "a", "jsonPayload": timeless(t), "timestamp": when(t),
         "receiveTimestamp": "2026-03-09T00:00:00Z"} for t in LINES],
        indent=2),
    "azure-dynamic": wrap(TimeGenerated=when, LogMessage=json.loads),
    "azure-text": wrap(TimeGenerated=when, LogEntry=same),
    "azure-table": lambda: dumps({"tables": [{
        "name": "PrimaryResult", "columns": [{"name": "TimeGenerated"}],
        "rows": [[when(t), dumps(timeless(t))] for t in LINES]}]}),
    "azure-table-time-behind": lambda: azure_table(1),
    "azure-table-time-behind-large": lambda: azure_table(200),
    "azure-csv": lambda: table(
        [["TimeGenerated [UTC]", "LogMessage"],
         *([when(t), t] for t in LINES)], quoting=csv.QUOTE_ALL),
    # Elastic, Splunk, Datadog, OpenTelemetry
    "elastic-hits": lambda: dumps({"took": 1, "hits": {"total": {}, "hits": [
        {"_index": "i", "_source": {"@timestamp": when(t), "message": t}}
        for t in LINES]}}),
    "elastic-decoded": lambda: dumps({"hits": {"hits": [
        {"_source": {"@timestamp": when(t), "json": timeless(t)},
         "sort": [ms(t)]} for t in LINES]}}),
    "elastic-fields": lambda: lines(dumps({"fields": {
        "@timestamp": [when(t)], "message": [dumps(json.loads(t))]}})
        for t in LINES),
    "splunk": lambda: lines(dumps({"preview": False, "result": {
        "_raw": t, "_time": spaced(t) + " UTC"}}) for t in LINES),
    # A known message beside the whole line.
    "splunk-message": lambda: lines(dumps({"result": {
        "_raw": t, "_time": spaced(t) + " UTC", "message": split(t)[0]}})
        for t in LINES),
    "elastic-original": wrap(**{
        "@timestamp": when, "message": lambda t: split(t)[0],
        "event": lambda t: {"original": t}}),
    "message-beside-log": wrap(message=lambda t: split(t)[0], log=same),
    "splunk-hec": wrap(time=lambda t: str(ms(t) / 1000), event=timeless,
                       sourcetype="kube"),
    "splunk-csv": lambda: table(
        [["_time", "_raw"], *([spaced(t), t] for t in LINES)],
        quoting=csv.QUOTE_ALL),
    "datadog": lambda: dumps({"data": [datadog(t) for t in LINES],
                              "meta": {"page": {}}}),
    "datadog-archive": lambda: lines(dumps({
        "_id": "A", "date": when(t), "service": "karpenter",
        "message": split(t)[0], "attributes": split(t)[1]}) for t in LINES),
    "otel": otel(lambda t: {"body": {"stringValue": t}}),
    "otel-values": otel(lambda t: {"body": any_value(timeless(t))}),
    "otel-attributes": otel(lambda t: {
        "body": {"stringValue": split(t)[0]},
        "attributes": pairs(split(t)[1])}),
    # members with names like that of a time
    "start-time": wrap(pod_start_time="2026-02-01T00:00:00Z", timestamp=when,
                       data=timeless),
    "last-update": wrap(last_update=1770000000, eventTime=when, log=timeless),
    "validated": wrap(validated=1770000000, lastUpdate=1770000000,
                      uptime=1770000000, startTime=when, log=timeless),
    "start-time-of-the-line": lambda: lines(dumps({
        "timestamp": when(t), "pod_start_time": "2026-02-01T00:00:00Z",
        **timeless(t)}) for t in LINES),
    # times as numbers
    "seconds": lambda: lines(dumps({**json.loads(t), "time": ms(t) / 1000})
                             for t in LINES),
    "milliseconds": lambda: lines(dumps({"ts": ms(t), **timeless(t)})
                                  for t in LINES),
    "offset": lambda: lines(t.replace("2026-03-02T10", "2026-03-02T11").replace(
        "T11:00:00Z\",\"logger\":\"controller\",\"message\":\"found",
        "T12:00:00Z\",\"logger\":\"controller\",\"message\":\"found").replace(
            "Z\",\"logger", "+0100\",\"logger") for t in LINES),
}


@pytest.mark.parametrize("shape", SHAPES)
def test_shape(run, tmp_path, shape):  # noqa: F811
    plain = tmp_path / "plain"
    plain.write_text(lines(LINES))
    wrapped = tmp_path / "wrapped"
    wrapped.write_bytes(SHAPES[shape]().encode())
    want = run("simulate", "plain", "-o", "record")
    assert want.out.count("\n") == 1 + 11 + 1, want.out
    got = run("simulate", "wrapped", "-o", "record")
    assert (got.code, got.err, got.out) == (0, "", want.out)
    wrapped.write_bytes(gzip.compress(SHAPES[shape]().encode()))
    assert run("simulate", "wrapped", "-o", "record").out == want.out


def decided(record):
    return record.count('"decided"')


def test_a_decision_that_is_made_again_counts_again(
        run, tmp_path):  # noqa: F811
    again = [*decide(300, 1), *decide(330, 1)]
    for text in (dumps({"events": [json.loads(t) for t in again]}),
                 dumps({"events": again}), dumps({"log": "\n".join(again)})):
        (tmp_path / "log").write_text(lines(boot(0, 1)) + text)
        got = run("simulate", "log", "-o", "record")
        assert decided(got.out) == 2, got.out


def test_a_copy_of_a_log_with_whole_seconds_has_the_same_decisions(
        run, tmp_path):  # noqa: F811
    exact = [dumps({**json.loads(t), "time": later(t, 777)}) for t in LINES]
    (tmp_path / "exact").write_text(lines(exact))
    (tmp_path / "seconds").write_text(lines(LINES))
    want = decided(run("simulate", "exact", "-o", "record").out)
    got = run("simulate", "exact", "seconds", "-o", "record")
    assert decided(got.out) == want > 0


@pytest.mark.parametrize("text", [
    '{\\"' * 100000, '{""a' * 100000, "x" * 100000 + '{\\"x'],
    ids=["strings", "cells", "no-string"])
def test_the_work_for_strings_that_do_not_end_is_linear(
        tmp_path, run, text):  # noqa: F811
    def work(text):
        (tmp_path / "log").write_text(dumps({"log": text}))
        before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
        run("simulate", "log")
        return resource.getrusage(
            resource.RUSAGE_CHILDREN).ru_utime - before
    assert work(text) < 20 * work("x" * len(text)) + .1
