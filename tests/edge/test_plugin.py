# SPDX-License-Identifier: Apache-2.0
"""kubectl karpenter-holder by each shell, with a scripted kubectl that records how
it is called.  What a real one does with it is in tests/e2e/test_plugin.py.

Krew's rules are those of its developer guide and of its validate-krew-manifest.
"""
import contextlib
import hashlib
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import tarfile

import pytest
import yaml

from conftest import wait

REPO = pathlib.Path(__file__).resolve().parents[2]
PLUGIN = REPO / "plugin" / "kubectl-karpenter_holder"
SHELLS = {"dash": ["dash"], "bash": ["bash"], "busybox": ["busybox", "sh"]}
VERSION = re.search(r"^VERSION := (.*)", (REPO / "Makefile").read_text(),
                    re.M)[1]
UNTIL = "2026-01-02T15:04:05Z"
LEASE = ("/apis/coordination.k8s.io/v1/namespaces/karpenter-node-holder/leases"
         "/karpenter-node-holder")
PROXY = ("/api/v1/namespaces/karpenter-node-holder/pods/http:pod-a:8080/proxy"
         "/status")

OWN = "karpenter-node-holder.io/"
NONE_OF_OURS = '{"karpenter.sh/nodepool-hash":"1"}'
BY_ANN = "(by ann)"

# Arguments are recorded one a line, "." after each call.  It is in a hurry.
KUBECTL = r"""#!/bin/sh
: "${GOGC:?}"
{ printf '%s\n' "$@"; echo .; } >>"$CALLS"
case $1:${KUBECONFIG-} in
--server=http://127.*:/dev/null) ;;
--server=http://127.*) exit 1 ;;
esac
[ -z "${SAYS-}" ] || printf '%s' "$SAYS" >&2
case "$* ${ENDLESS-}" in
--server=http://127.*yes) exec yes ;;
esac
case "$* ${HANGS-}" in
--server=http://127.0.0.1:4711*yes)
	echo 'Unable to connect to the server: Client.Timeout exceeded' >&2
	exit 1 ;;
esac
case " $* " in
*" ${ONCE-none} "*)
	[ "$(grep -cFxe "$ONCE" "$CALLS")" -gt 1 ] || {
		echo 'Error from server (ServiceUnavailable): unable' >&2
		exit 1
	} ;;
esac
case " $* " in
*" ${FAILS-none} "* | *"${FAILS-none}"[?=]*) printf '%s\n' "$ERROR" >&2; exit 1 ;;
*" auth whoami "*)
	printf '%s {"groups":["a"],"username":%s}' "${NOW-${TIME-2026-01-02T15:04:05Z}}" "${WHO-\"ann\"}" ;;
*" leases.v1."*)
	[ -n "${TICKET-}" ] || {
		echo 'Error from server (NotFound): leases "x" not found' >&2
		exit 1
	}
	printf '%s' "$TICKET" ;;
*" -f "*) while [ "$1" != -f ]; do shift; done; cat "$2" >"$CALLS.file" ;;
*/leases/*)
	case ${NEXT-}$(grep -c '^proxy$' "$CALLS") in
	yes2) HOLDER=pod-b_1 ;;
	esac
	printf '{"f:holderIdentity":{},"a":"\\"holderIdentity\\":\\"b\\"",
"spec":{"holderIdentity":"%s","leaseTransitions":7}}' "${HOLDER-pod-a_0123}" ;;
*" get pods pod-a "*) printf 'pod-a 8080' ;;
*" get pods pod-b "*) printf 'pod-b 8080' ;;
*" get pods -l "*) printf "${PODS-}" ;;
*" proxy "*)
	case ${NEXT-}$(grep -c '^proxy$' "$CALLS") in
	yes4) echo 'Error from server (Forbidden): it is forbidden: User "u" cannot' >&2; exit 1 ;;
	esac
	echo 'Starting to serve on 127.0.0.1:4712'
	exec sleep 60 ;;
*" port-forward "*)
	case ${LOST-}$(grep -c '^port-forward$' "$CALLS") in
	yes1) ;;
	yes2) echo 'error: lost connection to pod' >&2 ;;
	yes*) echo 'Error from server (Forbidden): pods "pod-a" is forbidden: User "u" cannot create it' >&2; exit 1 ;;
	esac
	echo "Forwarding from 127.0.0.1:4711 -> 8080"
	[ -n "${LOST-}" ] || exec sleep 60
	exit 1 ;;
*/status/time[?]until=*) printf '%s\n' "${ENDS-${TIME-2026-01-02T15:04:05Z}}" ;;
*/status/time*) printf '%s\n' "${TIME-2026-01-02T15:04:05Z}" ;;
*" get node "*)
	[ -n "${NODE-}" ] || {
		echo 'Error from server (NotFound): nodes "x" not found' >&2
		exit 1
	}
	case ${RACE-}$(grep -c '^patch$' "$CALLS") in
	yes0 | [0-9]*) printf '%s\n' "$NODE" ;;
	*) printf '%s\n' "$LATER" ;;
	esac ;;
*" patch node "*)
	case ${RACE-}$(grep -c '^patch$' "$CALLS") in
	yes1) echo 'Error from server (Conflict): the object has been modified' >&2; exit 1 ;;
	esac
	echo "node/$3" ;;
*" patch "*)
	case ${RACE-}$(grep -c '^patch$' "$CALLS") in
	yes1) echo 'The request is invalid: the server rejected our request' >&2; exit 1 ;;
	esac
	for name; do
		case $name in
		--type*) exit ;;
		patch | nodepools.*) ;;
		*) printf '%s\n' "nodepool.karpenter.sh/${WEB-$name}" ;;
		esac
	done ;;
*metadata.annotations*)
	case ${RACE-}$(grep -c '^patch$' "$CALLS") in
	yes0 | 0) [ -z "${POOLS-x}" ] || printf '%s\n' "${POOLS-web 7 $NONE_OF_OURS}" ;;
	*) printf '%s\n' "${LATER-${POOLS-web 7 $NONE_OF_OURS}}" ;;
	esac ;;
*custom-columns*) [ -z "${ROWS-}" ] || printf '%s\n' "$ROWS" ;;
*) printf '%s\n' "${SHOWN-shown}" ;;
esac
"""


@pytest.fixture(params=SHELLS)
def run(request, tmp_path):
    """run(ARGS, code=, VARIABLE=...) returns (stdout, stderr, calls)."""
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/kubectl").write_text(KUBECTL)
    (tmp_path / "bin/kubectl").chmod(0o755)
    (tmp_path / "bin/sleep").write_text(
        '#!/bin/sh\n[ "$1" != 60 ] || [ -n "${LOST-}" ] || exec /bin/sleep 60\n')
    (tmp_path / "bin/sleep").chmod(0o755)
    (tmp_path / "tmp").mkdir()
    calls = tmp_path / "calls"

    shell = SHELLS[request.param]
    base = {"PATH": f"{tmp_path / 'bin'}:{os.environ['PATH']}",
            "TMPDIR": str(tmp_path / "tmp"), "CALLS": str(calls),
            "NONE_OF_OURS": NONE_OF_OURS}

    def run(*args, code=0, variables=None, **env):
        calls.write_text("")
        done = subprocess.run(
            [*shell, PLUGIN, *args], text=True,
            stdin=subprocess.DEVNULL, capture_output=True, timeout=30,
            env={**base, **env, **(variables or {})})
        assert code is None or done.returncode == code, done
        assert not list((tmp_path / "tmp").iterdir())
        said = calls.read_text(errors="surrogateescape")
        said = re.sub(f"{tmp_path}/tmp/[^/\n]*", "TMP", said)
        return done.stdout, done.stderr, [
            c.split("\n") for c in said.split("\n.\n") if c]
    run.bin, run.shell, run.env = tmp_path / "bin", shell, base
    run.file = tmp_path / "calls.file"      # what -f named
    run.named = lambda calls: next(         # the ticket that was deleted
        c[-1].rpartition("/")[2] for c in calls if c[0] == "delete")
    # Each row of a long table is for one of the shells.
    run.rows = lambda table: table[list(SHELLS).index(request.param)::len(SHELLS)]
    return run


def test_what_kubectl_is_asked(run):
    """kubectl's own flags and every character reach it."""
    flags = ["--context", "it's $HOME", "--as=a b", "-s", "https://x", "-v=9",
             "--user=*", "--cluster", "-a;`b`\\c%s", "--insecure-skip-tls-verify"]
    passed = ["--context=it's $HOME", "--as=a b", "--server=https://x",
              "--v=9", "--user=*", "--cluster=-a;`b`\\c%s",
              "--insecure-skip-tls-verify=true"]
    out, said, calls = run("status", *flags, "-n", "platform", "--lease=other")
    assert (out, said) == ("shown\n", "")
    lease, pod, proxy, raw = calls
    assert lease == [*passed, "get", "--raw",
                     "/apis/coordination.k8s.io/v1/namespaces/platform/leases"
                     "/other"]
    assert pod[:12] == [*passed, "-n", "platform", "get", "pods", "pod-a"]
    path = PROXY.replace("s/karpenter-node-holder", "s/platform")
    assert proxy == [*passed, "proxy", "--port=0",
                     f"--accept-paths=^{path}(/|$)"]
    # What a hostile leader redirects has no credentials.
    assert raw == ["--server=http://127.0.0.1:4712", "get",
                   "--request-timeout=15s", "--raw", path + "?format=text"]
    raw = run("why", "node/a.b", "-ojson", "--request-timeout=9s")[2][3]
    assert raw[2:] == ["--request-timeout=9s", "--raw",
                       PROXY + "/machines/a.b?format=json"]


MANAGED = '{"f:metadata":{"f:annotations":{".":{},"f:%s":{}}}}'


def row(name="web", version="7", managed=None, **ours):
    """A NodePool with these annotations, as kubectl prints it.  managed: the
    one that the plugin owns."""
    text = json.dumps({
        "a": 'b,"' + OWN + 'hold-until":"2039-01-01T00:00:00Z"', **{
            OWN + key.replace("_", "-"): value for key, value in ours.items()}},
        separators=(",", ":"), ensure_ascii=False)
    for c in "<>&":
        text = text.replace(c, f"\\u{ord(c):04x}")
    return f"{name} {version} {text} " + MANAGED % (OWN + (
        managed or "hold-until"))


def changed(call, tested=True):
    """The names, and what a patch does to our annotations: {key: value}, where
    None is taken off.  It tests what has been there."""
    assert call[:2] == ["patch", "nodepools.v1.karpenter.sh"]
    *names, kind, patch, output, manager, dry_run = call[2:]
    assert (kind, output, manager) == (
        "--type=json", "--output=name",
        "--field-manager=karpenter-holder"), call
    patch = json.loads(patch.removeprefix("--patch="))
    tests = [o for o in patch if o["op"] == "test"]
    at = "/metadata/annotations/" + OWN.replace("/", "~1")
    assert patch[:len(tests)] == tests and (not tested or [
        o["path"] for o in tests] == [at + k for k in (
            "hold-until", "reason", "released-at")]), patch
    return names, {o["path"].removeprefix(at): o.get("value")
                   for o in patch[len(tests):]}, [o["value"] for o in tests]


def patched(calls):
    return next(c for c in calls if c[0] == "patch")


def asked_time(calls):
    """What the leader has been asked at /status/time."""
    return [c[-1].removeprefix(PROXY + "/time") for c in calls
            if PROXY + "/time" in c[-1]]


def test_what_is_annotated(run):
    reason = "a=b; 'c' \"d\" $(e) `f` \\ * <&>"
    pools = "\n".join(map(row, ("web", "b", "c", "web")))
    out, said, calls = run("hold", "--until", "1 +&#%", "--nodepool", "web",
                           "b", "--reason", reason, "--nodepool=c", POOLS=pools)
    assert asked_time(calls) == ["?until=%31%20%2b%26%23%25"]
    read = next(c for c in calls if "nodepools.v1.karpenter.sh" in c)
    assert read[:6] == ["get", "nodepools.v1.karpenter.sh", "web", "b", "c",
                        "-o"]
    assert changed(patched(calls)) == (["b", "c", "web"], {
        "hold-until": UNTIL, "reason": f"{reason} {BY_ANN}"}, [None] * 3)
    assert patched(calls)[-1] == "--dry-run=none"
    assert out == "".join(f"nodepool.karpenter.sh/{n} annotated\n" for n in
                          ("b", "c", "web")) + f"held until {UNTIL}\n"
    assert not said
    # The API server drops a parameter with a ";", and now would be the answer.
    calls = run("hold", "--for=2h;x\n\u00b5", "--all")[2]
    assert asked_time(calls) == ["?for=%32%68%3b%78%0a%c2%b5"]
    calls = run("hold", "--for=2h", "--all")[2]
    assert asked_time(calls) == ["?for=7200s"]
    out, said, calls = run("release", "--all", "--dry-run=server",
                           POOLS=row(hold_until=UNTIL))
    assert not asked_time(calls), "the API server tells the time"
    assert changed(patched(calls)) == (["web"], {
        "released-at": UNTIL, "hold-until": None, "reason": BY_ANN},
        [UNTIL, None, None])
    assert patched(calls)[-1] == "--dry-run=server"
    assert out == (
        "nodepool.karpenter.sh/web annotated (server dry run)\n"
        f"taken off: NodePool web: hold-until {UNTIL} (server dry run)\n"
        f"released at {UNTIL} (server dry run)\n")
    # A release has a reason, too.
    for there in {"hold_until": UNTIL, "reason": "y"}, {"reason": "y"}, {}:
        calls = run("release", "--all", "--reason=y", POOLS=row(**there))[2]
        assert [changed(c)[1] for c in calls if c[0] == "patch"] == [{
            "released-at": UNTIL, "reason": f"y {BY_ANN}",
            **({"hold-until": None} if "hold_until" in there else {})}]
    out, _, calls = run("resume", "--nodepool", "web", POOLS="\n".join((
        row(hold_until=UNTIL, released_at="1"), row("b"))))
    assert changed(patched(calls)) == (["web"], {
        "hold-until": None, "released-at": None}, [UNTIL, None, "1"])
    assert out.endswith(
        f"taken off: NodePool web: hold-until {UNTIL}, released-at 1\n")
    out, _, calls = run("resume", "--all", POOLS=row(reason="x", enabled="1"))
    assert (out, len(calls)) == ("nothing to take off\n", 3)
    # Where there is no annotation, there is no place for one.
    _, patch, _ = changed(patched(run("hold", "--for=2h", "--nodepool=web",
                                      POOLS="web 7 ")[2]), False)
    assert patch == {"/metadata/annotations": {}, "hold-until": UNTIL,
                     "reason": BY_ANN}
    # YAML has no such character, and an argument is no larger.
    for reason in "\x80", "x" * 1001:
        calls = run("resume", "--all", "--force", POOLS=row(
            hold_until="1", reason=reason))[2]
        assert changed(patched(calls), False)[2] == ["7"]


def test_the_user_stands_beside_the_reason(run):
    """Of the 256 bytes that the holder shows, the user's are kept."""
    def written(*args, **env):
        return changed(patched(run("hold", "--for=2h", "--all", *args,
                                   **env)[2]))[1].get("reason")
    assert written("--reason=" + "ä" * 128) == "ä" * 123 + " " + BY_ANN
    assert written("--reason=" + "x" * 256) == "x" * 247 + " " + BY_ANN
    assert written("--reason=x") == f"x {BY_ANN}" and written() == BY_ANN
    user = "arn:aws:sts::1:assumed-role/" + "u" * 300
    assert written("--reason=" + "x" * 256, WHO=f'"{user}"') == (
        "x" * 123 + f" (by {user[:127]})")
    assert written("--reason=x", WHO=as_kubectl(ODD)) == (
        r"x (by  a\t\"b\\n\u001f<é>, \"username\":\"ann\" )".replace(
            r"\"", '"').replace(r"\\", "\\"))
    # Where nobody says who asks, nobody is named.
    for error in NO_RIGHT, GONE, NOT_SERVED:
        unknown = {"FAILS": "whoami", "ERROR": error}
        assert written(**unknown) is None
        assert written("--reason=x", **unknown) == "x"
        out, _, calls = run("release", "--all", **unknown)
        assert asked_time(calls) == [""] and f"released at {UNTIL}\n" in out
    # Whoever cannot be asked now may be somebody else.
    for command in ["hold", "--for=2h"], ["release"], ["resume"]:
        out, said, calls = run(*command, "--all", code=1, FAILS="whoami",
                               ERROR="error: EOF")
        assert (out, said, len(calls)) == ("", "error: EOF\n", 1)


EARLIER, LATER = "2026-01-02T15:04:04Z", "2026-01-02T15:04:06Z"
OVER = "until: expected a time that lies ahead"
READS = {"SHOWN": "watching     nodes 2, nodeclaims 2, tickets 0"}
LEASES = "leases.v1.coordination.k8s.io"
TO_EVENING = "--until=2026-01-02T17:04:05Z"
EVENING = READS | {"ENDS": "2026-01-02T17:04:05Z"}
NOT_SERVED = "error: the selfsubjectreviews API is not enabled in the cluster"
NO_RIGHT = ("Error from server (Forbidden): leases is forbidden: User "
            '"a" cannot get it')
# What a user may be called, as far as JSON goes.
ODD = ' a\t"b\\n\u001f<\u00e9>, "username":"ann" '


def as_kubectl(text):
    text = json.dumps(text, ensure_ascii=False)
    return re.sub("[<>&]", lambda c: f"\\u{ord(c[0]):04x}", text)


def ticket_of(name):
    return ('7 {"holderIdentity":' + as_kubectl(name) +
            ',"leaseDurationSeconds":9}')


def did(calls, verb):
    return [c for c in calls if c[0] == verb]


@pytest.fixture
def hold(run):
    """hold(ARGS) returns the ticket that it writes, and how."""
    def hold(*args, **env):
        run.file.unlink(missing_ok=True)
        out, said, calls = run("hold", TO_EVENING, *args, **EVENING | env)
        assert not said and not did(calls, "patch")
        assert out.endswith("held until 2026-01-02T17:04:05Z\n")
        call, = [c for c in calls if "-f" in c]
        return json.loads(run.file.read_text()), call[0], out
    return hold


def test_a_hold_writes_a_ticket(hold):
    """Where the holder reads tickets: one for each person and choice, by the
    leader's clock."""
    one, verb, _ = hold("--nodepool", "web", "batch", "--reason=a \"b\"")
    assert verb == "create"
    assert one["spec"] == {
        "holderIdentity": "ann", "leaseDurationSeconds": 7200,
        "renewTime": "2026-01-02T15:04:05.000000Z"}
    assert one["metadata"]["annotations"] == {
        OWN + "nodepools": "batch,web", OWN + "reason": 'a "b"'}
    again, verb, _ = hold("--nodepool", "batch", "web", "web",
                          TICKET=ticket_of("ann"))
    assert (again["metadata"]["name"], verb) == (
        one["metadata"]["name"], "replace")
    assert again["metadata"]["resourceVersion"] == "7"
    everything = hold("--all")[0]
    names = [t["metadata"]["name"] for t in (
        one, everything, hold("--all", WHO='"bob"')[0])]
    assert len(set(names)) == 3 and not everything["metadata"]["annotations"]


def test_every_name_of_a_user_is_written_as_it_is(run, hold):
    who = {"WHO": as_kubectl(ODD)}
    ticket, _, out = hold("--all", **who)
    assert ticket["spec"]["holderIdentity"] == ODD
    assert out.startswith(f"ticket {ticket['metadata']['name']} of  a\\t")
    assert hold("--all", TICKET=ticket_of(ODD), **who)[1] == "replace"
    for other in ODD.strip(), "ann":
        assert "is not yours" in run("hold", TO_EVENING, "--all", code=1,
                                     TICKET=ticket_of(other), **who | EVENING)[1]


def test_the_bounds_of_a_ticket(run, hold):
    """They are said before anything is written."""
    for args, env, want in (
            (["--all"], READS | {"ENDS": "2026-01-09T15:04:06Z"}, "7 days"),
            (["--nodepool", *(f"p{n}" for n in range(65))], EVENING, "64"),
            (["--nodepool", *("x" * 250 + str(n) for n in range(9))], EVENING,
             "2048")):
        _, said, calls = run("hold", TO_EVENING, *args, code=1, **env)
        assert re.fullmatch(f"error: .*{want}.* --annotate\n", said), said
        assert not did(calls, "create") and not did(calls, "patch")
        assert did(run("hold", TO_EVENING, *args, "--annotate", **env)[2],
                   "patch")
    hold("--nodepool", "p0", *(f"p{n}" for n in range(64)))
    week = READS | {"ENDS": "2026-01-09T15:04:05Z"}
    for now in UNTIL, EARLIER:  # the answer that says who asks has come before
        assert did(run("hold", TO_EVENING, "--all", NOW=now, **week)[2], "create")


def test_a_hold_that_may_not_write_a_ticket_fails(run):
    for failing, want in ((LEASES, "karpenter-node-holder-ticket-writer"),
                          ("create", "karpenter-node-holder-ticket-writer"),
                          ("auth", "who you are is not known")):
        _, said, calls = run("hold", TO_EVENING, "--all", code=1, FAILS=failing,
                             ERROR=NO_RIGHT, **EVENING)
        assert want in said
        assert "--annotate" in said and not did(calls, "patch")
    assert "is not yours" in run("hold", TO_EVENING, "--all", code=1,
                                 TICKET=ticket_of("bob"), **EVENING)[1]


def test_a_ticket_leaves_a_hold_until(hold):
    until = {"hold_until": LATER, "released_at": EARLIER, "reason": "ML"}
    out = hold("--all", POOLS=row(**until) + "\n" + row("b"))[2]
    assert (f"\nstays: NodePool web: hold-until {LATER}, released-at {EARLIER}, "
            "reason: ML\nheld until") in out


def test_a_hold_needs_no_holder(run):
    """Its next leader reads hold-until, and the API server tells the time.
    Without the status nobody knows whether a ticket would be read."""
    failing = {"FAILS": PROXY + "?format=text", "ERROR": "error: it is busy"}
    gone, unknown = {"HOLDER": ""}, {"NOW": ""}
    refused = {"FAILS": PROXY + "/time", "ERROR":
               f"Error from server (BadRequest): {OVER}"}
    old = {"FAILS": PROXY + "/time", "ERROR": "Error from server (NotFound): "
           "the server could not find the requested resource"}
    for flag, env, until in (
            ("--for=2h", failing, UNTIL), (TO_EVENING, failing, LATER),
            (TO_EVENING, gone, EVENING["ENDS"]),
            (TO_EVENING, gone | unknown, EVENING["ENDS"]),
            ("--for=2h", gone, EVENING["ENDS"]),
            ("--for=1d1h1m1s", gone, "2026-01-03T16:05:06Z"),
            ("--until=18:00Z", gone, "2026-01-02T18:00:00Z"),
            ("--for=2h", old, EVENING["ENDS"])):
        out, said, calls = run("hold", flag, "--all", **READS | env, ENDS=LATER)
        assert re.fullmatch("warning: .* so hold-until is written: .*\n", said)
        assert changed(patched(calls))[1]["hold-until"] == until, (flag, env)
        assert f"held until {until}" in out.splitlines()[-1]
    assert "has no page /status/time: is the holder as new" in said
    for flag, env in (("--for=2h", gone | unknown), ("--for=soon", gone),
                      ("--for=0h", gone), ("--for=2h3", gone),
                      ("--until=18:00Z", gone | unknown), (TO_EVENING, refused),
                      ("--for=2h", refused),
                      (TO_EVENING, refused | {"ERROR": NO_RIGHT})):
        _, said, calls = run("hold", flag, "--all", code=1, **EVENING | env)
        assert re.fullmatch("error: .*\n", said) and not did(calls, "patch")


@pytest.mark.parametrize("command", ["release", "resume"])
def test_only_ones_own_ticket_is_ended(run, command):
    """And that only as it was read."""
    def deleted(*args, owner="ann", **env):
        out, said, calls = run(command, "--all", *args,
                               TICKET=ticket_of(owner), **env)
        assert not said and (" deleted in " in out) == (owner == "ann")
        return did(calls, "delete")
    call, = deleted()
    assert call[-1].startswith("/apis/coordination.k8s.io/v1/namespaces/"
                               "karpenter-node-holder-tickets/leases/hold-")
    assert json.loads(run.file.read_text()) == {
        "preconditions": {"resourceVersion": "7"}, "dryRun": []}
    assert deleted("--dry-run=server")
    assert json.loads(run.file.read_text())["dryRun"] == ["All"]
    assert not deleted("--dry-run=client")
    assert not deleted(owner="bob") and not deleted("--force", owner="bob")
    assert deleted(FAILS="delete", ERROR=GONE)


@pytest.mark.parametrize("command", ["release", "resume"])
def test_a_ticket_that_cannot_be_ended_is_said(run, command):
    """... after all else is done.  Who may not read it has none."""
    env = {"TICKET": ticket_of("ann"), "POOLS": row(hold_until=LATER)}
    for failing, error, known in (
            ("auth", NOT_SERVED, True),
            (LEASES, NO_RIGHT, True), (LEASES, GONE, True),
            (LEASES, "Error from server (Timeout): no", False),
            ("delete", NO_RIGHT, False),
            ("delete", "Error from server (Conflict): modified", False)):
        _, said, calls = run(command, "--all", code=0 if known else 1,
                             FAILS=failing, ERROR=error, **env)
        assert changed(patched(calls))[1]["hold-until"] is None
        assert known and not said or re.fullmatch(
            "error: your ticket may still hold: .+\n", said), (error, said)


def test_what_a_hold_warns_of(run):
    said = run("hold", "--for=2h", "--all", POOLS="\n".join((
        row("b", enabled="false"), row("c", enabled="true\nfalse"))))[1]
    assert re.fullmatch("warning: NodePool b has .*\n", said)
    page = f"""karpenter-node-holder 0.1.0, {UNTIL}

NODEPOOL  MACHINES  HELD  BY PEOPLE  OPTED OUT
out              2     0          0          0
          left out: excluded
web              2     0          0          0
          reason: left out: excluded
          left out: disabled"""
    for pools in ["--all"], ["--nodepool", "web", "out"]:
        assert run("hold", "--for=2h", *pools, SHOWN=page)[1] == (
            "warning: the configuration excludes NodePool out, so it is not "
            "held\n")
    assert not run("hold", "--for=2h", "--nodepool=web", SHOWN=page)[1]


def test_a_trial_holds_nothing(run):
    """And what is written would hold once the trial is over."""
    trial = f"karpenter-node-holder 0.1.0, {UNTIL}, mode observe: nothing is"
    for more in "", "\n" + READS["SHOWN"]:
        env = {"SHOWN": trial + more, "ENDS": EVENING["ENDS"]}
        out, said, calls = run("hold", "--for=2h", "--all", code=1, **env)
        assert re.fullmatch("error: the holder has mode: observe, so nothing is "
                            "held, and nothing is written: --force .*\n", said)
        assert not out and not did(calls, "patch") and not did(calls, "create")
        out, said, calls = run("hold", "--for=2h", "--all", "--force", **env)
        assert said == ("warning: the holder has mode: observe, so nothing is "
                        "held\n")
        assert did(calls, "create" if more else "patch")


STEERED = [     # command, what is there, until when by the leader, what is done
    ("hold", {"hold_until": EARLIER}, EARLIER, True),
    ("hold", {"hold_until": UNTIL}, UNTIL, True),
    ("hold", {"hold_until": LATER}, LATER, False),
    ("hold", {"hold_until": EARLIER, "reason": "a"}, EARLIER, False),
    ("hold", {"hold_until": EARLIER, "reason": "a (by ann)"}, EARLIER, True),
    ("hold", {"hold_until": EARLIER, "reason": "a (by bob)"}, EARLIER, False),
    ("hold --reason=a", {"hold_until": EARLIER, "reason": "a"}, EARLIER, True),
    ("hold --reason=<&>", {"hold_until": EARLIER, "reason": "<&>"}, EARLIER, True),
    ("hold --reason=a", {"hold_until": EARLIER, "reason": "b"}, EARLIER, False),
    ("hold --reason=a", {"hold_until": EARLIER, "reason": "a (by bob)"}, EARLIER,
     False),
    ("hold --reason=a", {"hold_until": LATER, "reason": "a"}, LATER, False),
    ("hold", {"hold_until": LATER, "reason": "(by ann)"}, LATER, False),
    ("hold --reason=a", {"hold_until": EARLIER}, EARLIER, True),
    ("hold --force", {"hold_until": LATER, "reason": "b"}, None, True),
    ("hold", {"hold_until": "1999-01-01T00:00:00Z", "reason": "b"}, OVER, True),
    ("hold", {"hold_until": "x"}, None, False),
    ("hold", {"hold_until": "9" * 40}, None, False),
    ("hold", {"reason": "b"}, None, True),
    ("resume", {"hold_until": LATER}, None, True),
    ("resume", {"hold_until": LATER, "reason": "b"}, LATER, False),
    ("resume", {"hold_until": LATER, "reason": "b"}, "unavailable", False),
    ("resume", {"hold_until": LATER, "reason": "b"}, OVER, True),
    ("resume", {"hold_until": LATER, "reason": "b (by ann)"}, None, True),
    ("resume", {"hold_until": LATER, "reason": "b (by joann)"}, LATER, False),
    ("resume --reason=b", {"hold_until": LATER, "reason": "b"}, None, True),
    ("resume --reason=b", {"hold_until": LATER, "reason": "b (by bob)"}, LATER,
     False),
    ("resume --force", {"hold_until": LATER, "reason": "b"}, None, True),
    ("resume", {"released_at": LATER, "reason": "b"}, None, False),
    ("resume", {"released_at": LATER, "reason": "(by ann)"}, None, True),
    ("release", {"hold_until": LATER}, None, True),
    ("release", {"hold_until": LATER, "reason": "b"}, LATER, False),
    ("release", {"hold_until": LATER, "reason": "(by bob)"}, LATER, False),
    ("release", {"hold_until": LATER, "reason": "(by bob)"}, OVER, True),
    ("release", {"hold_until": LATER, "reason": "(by ann)"}, None, True),
    ("release --force", {"hold_until": LATER, "reason": "b"}, None, True),
]


def test_no_hold_by_hand_destroys_another(run):
    """One that is in force is prolonged by whoever gives its reason, or has
    written it; and by nobody else changed without --force.  hold changes the
    others all the same; release and resume write nothing at all."""
    for command, there, ends, done in run.rows(STEERED):
        env = {"ENDS": ends}
        if ends in (OVER, "unavailable"):
            env = {"FAILS": PROXY + "/time?until", "ERROR":
                   f"Error from server (BadRequest): {ends}"}
        elif not ends:
            env = {"FAILS": PROXY + "/time?until", "ERROR": "not asked"}
        holds = command.startswith("hold")
        out, said, calls = run(
            *command.split(), "--all", *(["--for=2h"] * holds),
            code=0 if done else 1, POOLS=row(**there) + "\n" + row(
                "free", released_at=EARLIER), TICKET=ticket_of("ann"), **env)
        case = command, there, said
        assert ("not asked" not in said), case
        changes = {n: c for names, c, _ in map(changed, (
            c for c in calls if c[0] == "patch")) for n in names}
        listed = ", ".join(f"{k.replace('_', '-')}{':' * (k == 'reason')} {v}"
                           for k, v in there.items())
        assert bool(did(calls, "delete")) == (done and not holds), case
        if done:
            assert "hold-until" in changes["web"] or "hold_until" not in there, case
            assert f": NodePool web: {listed}\n" in out and not said, case
            assert "free" in changes, case
            continue
        assert f"warning: NodePool web is left as it is: {listed}\n" in said, case
        assert list(changes) == ["free"] * holds, case
        assert said.splitlines()[-1].startswith(
            "error: not done for 1 of 2 NodePools: --" if holds else
            "error: nothing is written, because somebody else has a reason: "
            f"--force {command.split()[0]}s all the same"), case
        assert holds or not out, case


UNSURE = [  # command, until when, the reason beside it, is it done
    ("hold", EARLIER, "(by bob)", False),
    ("hold", EARLIER, "a (by ann)", False),
    ("release", LATER, "(by bob)", False),
    ("release", LATER, "a (by ann)", False),
    ("resume", LATER, "quarter close (by bob)", False),
    ("resume", LATER, "(by ann)", False),
    ("resume", LATER, "a", False),
    ("resume", LATER, None, True),
    ("resume", OVER, "(by bob)", True),
]


@pytest.mark.parametrize("managed", ["reason", "enabled"])
def test_a_hold_that_the_plugin_has_not_written(run, managed):
    """The reason beside it may be that of an earlier hold, or of this one:
    somebody has written both by kubectl or by GitOps ("enabled" is the plugin's
    alone), or has given the same hold-until before.  So nobody ends it without
    --force."""
    for command, until, reason, done in UNSURE:
        pool = row(hold_until=UNTIL if until == OVER else until,
                   managed=managed, **({"reason": reason} if reason else {}))
        ends = {"ENDS": until} if until != OVER else {
            "FAILS": PROXY + "/time?until",
            "ERROR": f"Error from server (BadRequest): {OVER}"}
        args = command, "--all", *["--for=2h"] * (command == "hold")
        _, said, calls = run(*args, POOLS=pool, code=int(not done), **ends)
        assert bool(did(calls, "patch")) == done, (command, reason, said)
        assert done or (reason == "a") == (
            "(hold-until was not written by this plugin)" not in said), said
        assert did(run(*args, "--force", POOLS=pool, **ends)[2], "patch")


TICKETS = [     # who writes it, the one that holds web, whether it is somebody else's
    ("ann", "ci of bob: it's late", True),
    ("ann", "ci of joann", True),
    ("ann", "ci of bob: of ann", True),
    ("ann", "ci", True),
    ("ann", "ci of ann", False),
    ("ann", "ci of ann: a: b", False),
    ("sa:b", "ci of sa:b: 9", False),
    ("sa:b", "ci of sa", True),
]


@pytest.mark.parametrize("command", ["release", "resume"])
def test_the_ticket_of_somebody_else_is_told_before(run, command):
    """... anything is written, one's own ticket included.  With --force all is
    done but that."""
    pool = row(hold_until=UNTIL) + "\n" + row("b")
    for who, ticket, theirs in run.rows(TICKETS):
        def steer(*args, code=0, pools=f"web 9 2 0 0\n          held until {LATER}"
                                       f" by ticket {ticket}\nb 9 0 0 0\n"):
            return run(command, *args, code=code, WHO=f'"{who}"', POOLS=pool,
                       TICKET=ticket_of(who), SHOWN=PAGE.format(
                           now=UNTIL, scopes=QUIET, pools=pools))
        out, said, calls = steer("--all", code=int(theirs))
        assert not theirs or (out, said) == ("", (
            f"warning: held: NodePool web until {LATER}, for 1 s: ticket {ticket}\n"
            "error: nothing is written, because somebody else has a reason: "
            f"--force {command}s all the same, but only 'kubectl -n karpenter-node-"
            "holder-tickets delete lease NAME' ends a ticket\n"))
        assert bool(did(calls, "patch")) == bool(did(calls, "delete")) != theirs
        assert did(steer("--all", "--force")[2], "patch")
    # Another's ticket may hold behind one's own, which ends later.
    said = run(command, "--all", code=1, WHO='"ann"', POOLS=pool,
               TICKET=ticket_of("ann"), SHOWN=PAGE.format(
                   now=UNTIL, scopes=QUIET, pools=(
                       f"web 9 2 0 0\n          held until {LATER} by ticket x of "
                       f"ann\n          also held until {LATER} by ticket ci of bob\n"
                       "b 9 0 0 0\n")))[1]
    assert ": ticket ci of bob\nerror: nothing is written" in said
    # One of another NodePool is nobody's business here.
    assert did(run(command, "--nodepool=b", POOLS=row("b", hold_until=UNTIL),
                   SHOWN=PAGE.format(now=UNTIL, scopes=QUIET, pools=(
                       f"web 9 2 0 0\n          held until {LATER} by ticket ci of "
                       "x\nb 9 0 0 0\n")))[2], "patch")


def test_where_no_leader_knows_the_tickets(run):
    """A release fails; to resume needs no leader."""
    gone = {"HOLDER": "", "POOLS": row(hold_until=UNTIL)}
    _, said, calls = run("release", "--all", code=1, **gone)
    assert re.fullmatch("error: no replica leads.*; --force releases without "
                        "knowing whose tickets hold\n", said)
    assert not did(calls, "patch")
    _, said, calls = run("resume", "--all", **gone)
    assert re.fullmatch("warning: whether a ticket holds is not known: .*\n", said)
    assert did(calls, "patch")
    assert did(run("release", "--all", "--force", **gone)[2], "patch")


def test_what_comes_in_between_is_seen(run):
    """What has been written is not written again."""
    out, said, calls = run("hold", "--for=2h", "--all", code=1, RACE="yes",
                           POOLS=row(reason="x") + "\n" + row("b"), ENDS=LATER,
                           LATER=row(hold_until=LATER) + "\n" + row("b"))
    assert [c[2] for c in calls if c[0] == "patch"] == ["web", "b"], calls
    assert out == f"nodepool.karpenter.sh/b annotated\nheld until {UNTIL}\n"
    assert said.startswith("warning: NodePool web is left as it is: ")
    assert said.endswith("not done for 1 of 2 NodePools: --force replaces, "
                         "shortens or ends what is there\n"), said
    # What nobody has changed fails again.
    out, said, calls = run("hold", "--for=2h", "--all", code=1, RACE="yes")
    assert said == ("error: The request is invalid: the server rejected our "
                    "request\n")
    assert len([c for c in calls if c[0] == "patch"]) == 1 and not out


HOLD, MARK = "karpenter.sh/do-not-disrupt", OWN + "held-since"
OURS = {HOLD: "true", MARK: EARLIER}
OTHER_KEY = {"example.com/no": "y=s", MARK: EARLIER,
             OWN + "held-key": "example.com/no=y=s"}
THEIRS = {HOLD: "true", OWN + "reason": "a (by bob)"}
MINE = {HOLD: "true", OWN + "reason": "a (by ann)"}
TAKEN = {MARK: None, OWN + "held-key": None, OWN + "reason": BY_ANN}
GIVEN = {HOLD: None, OWN + "reason": None}
OF_NODES = [    # command, annotations, what is changed, or None: it asks for --force
    ("release", OURS, {HOLD: None}),
    ("release", OTHER_KEY, {"example.com/no": None}),
    ("release", OURS | {OWN + "held-key": "a#w x#=b"}, {HOLD: None}),
    ("release", {MARK: EARLIER}, {}),
    ("release", {MARK: EARLIER, HOLD: "false"}, {}),
    ("release", {HOLD: "false"}, {}),
    ("release", {"a": 'b,"' + HOLD + '":"true'}, {}),
    ("release", MINE, GIVEN | {MARK: UNTIL}),
    ("release", THEIRS, None),
    ("release", {HOLD: "true"}, None),
    ("release --force", THEIRS, GIVEN | {MARK: UNTIL}),
    ("hold", {}, {HOLD: "true"} | TAKEN),
    ("hold", OURS, TAKEN),
    ("hold", OTHER_KEY, TAKEN),
    ("hold", {MARK: EARLIER}, {HOLD: "true"} | TAKEN),
    ("hold", MINE, {HOLD: "true"} | TAKEN),
    ("hold", THEIRS, None),
    ("hold", {HOLD: "true"}, None),
    ("hold", {HOLD: "false"}, None),
    ("hold --force", {HOLD: "false"}, {HOLD: "true"} | TAKEN),
    ("resume", {MARK: EARLIER}, {HOLD: "true"}),
    ("resume", {k: OTHER_KEY[k] for k in (MARK, OWN + "held-key")},
     {"example.com/no": "y=s"}),
    ("resume", OURS, {}),
    ("resume", {}, {}),
    ("resume", MINE, GIVEN),
    ("resume", THEIRS, None),
    ("resume", {HOLD: "true"}, None),
    ("resume", {MARK: EARLIER, HOLD: "false"}, None),
    ("resume --force", {HOLD: "true"}, GIVEN),
]


def of_node(notes, version="7", pool="web", registered="true"):
    return "\n".join((version, pool, registered, json.dumps(
        notes, separators=(",", ":"))))


def test_one_node(run):
    """What a person does by hand (docs/rules.md), as it was read."""
    for command, notes, change in run.rows(OF_NODES):
        out, said, calls = run(*command.split(), "node/a.b", NODE=of_node(notes),
                               code=1 if change is None else 0)
        patches, case = did(calls, "patch"), (command, notes, out, said)
        if not change:
            assert not patches, case
            assert out.startswith("nothing to ") != (change is None), case
            assert change is not None or re.fullmatch(
                "warning: .*Node a.b.*\nerror: nothing is written, because "
                f"somebody else has a reason: --force {command}s all the same\n",
                said), case
            continue
        (*call, patch), = patches
        assert call == ["patch", "node", "a.b", "--type=merge", "--output=name",
                        "--field-manager=karpenter-holder", "--dry-run=none"]
        assert json.loads(patch.removeprefix("--patch=")) == {"metadata": {
            "resourceVersion": "7", "annotations": change}}, case
        assert out.splitlines()[0] == "node/a.b annotated" and not said, case
        undone = command.split()[0] != "resume"
        assert ("karpenter-holder resume a.b'" in out) == undone, case
        assert calls[-1][-1] == PROXY + "/machines/a.b?format=text"


def test_a_node_in_a_trial(run):
    """A hold by hand is one that Karpenter obeys."""
    trial = {"SHOWN": f"karpenter-node-holder 0.1.0, {UNTIL}, mode observe: x",
             "NODE": of_node({})}
    out, said, calls = run("hold", "a", code=1, **trial)
    assert not out and not did(calls, "patch")
    assert re.fullmatch("error: the holder has mode: observe, .* nothing is "
                        "written: --force writes .*\n", said)
    assert did(run("hold", "a", "--force", **trial)[2], "patch")
    # A hold needs no leader.
    assert did(run("hold", "a", NODE=of_node({}), HOLDER="")[2], "patch")


def test_a_node_without_a_leader(run):
    """Nobody knows whose tickets hold its NodePool."""
    gone = {"HOLDER": "", "NODE": of_node(OURS)}
    _, said, calls = run("release", "a", code=1, **gone)
    assert re.fullmatch("error: no replica leads.*; --force releases without "
                        ".*\n", said) and not did(calls, "patch")
    assert did(run("release", "a", "--force", **gone)[2], "patch")


def test_whose_node_is_released(run):
    """A release of one Node would also break what its NodePool is held for."""
    ticket = PAGE.format(now=UNTIL, scopes=QUIET, pools=(
        f"web 9 2 0 0\n          held until {LATER} by ticket ci of x\n"))
    for more in ({"POOLS": row(hold_until=LATER, reason="b (by bob)"),
                  "ENDS": LATER}, {"SHOWN": ticket}):
        out, said, calls = run("release", "a", NODE=of_node(OURS), code=1, **more)
        assert not out
        assert re.fullmatch("warning: .*NodePool web .*\nerror: nothing is .*\n",
                            said)
        for there in OURS, MINE:
            assert not did(run("release", "a", NODE=of_node(there), code=1,
                               **more)[2], "patch")
            assert did(run("release", "a", "--force", NODE=of_node(there),
                           **more)[2], "patch")
    assert did(run("release", "a", NODE=of_node(OURS), ENDS=LATER, POOLS=row(
        hold_until=LATER, reason="b (by ann)"))[2], "patch")
    # In a trial there is nobody to keep off, and nobody to remove the mark.
    call, = did(run("release", "a", NODE=of_node(MINE), SHOWN=(
        f"karpenter-node-holder 0.1.0, {UNTIL}, mode observe: nothing"))[2],
        "patch")
    assert json.loads(call[-1].partition("=")[2])["metadata"]["annotations"] == GIVEN


def test_a_node_that_changes_is_read_again(run):
    """A person's hold is not removed for the holder's."""
    _, said, calls = run("release", "a", code=1, RACE="yes", NODE=of_node(OURS),
                         LATER=of_node(THEIRS, version="8"))
    assert len(did(calls, "patch")) == 1
    assert said.startswith("warning: a person holds Node a, reason: a (by bob)\n")
    run("release", "a", RACE="yes", NODE=of_node(OURS),
        LATER=of_node(OURS, version="8"))


def test_which_node(run):
    """A name that is none, or another thing's, is told before anything is
    written."""
    for env, want in (
            ({"FAILS": "-o name", "ERROR": GONE}, "no Node is called web"),
            ({}, "no Node is called web; did you mean --nodepool web?"),
            ({"NODE": of_node(OURS, pool="")}, "Node web is not Karpenter's"),
            ({"NODE": of_node(OURS, registered="")}, "is not registered yet"),
            ({"FAILS": "node", "ERROR": NO_RIGHT},
             "ClusterRole karpenter-node-holder-node-operator")):
        out, said, calls = run("release", "web", code=1, **env)
        assert not out and not did(calls, "patch")
        assert want in said and re.fullmatch("error: .*\n", said)
    assert run("release", "a", "--dry-run=server", NODE=of_node(OURS))[0] == (
        "node/a annotated (server dry run)\nreleased until the holder's next "
        "hold; 'kubectl karpenter-holder resume a' undoes this (server dry run)\n")


TIMES = [       # the command line, now, what the leader is asked, what is shown
    ("--for=2d", "?for=172800s", ""), ("--for=1d12h", "?for=129600s", ""),
    ("--for=90m", "?for=5400s", ""), ("--for=12345678s", "?for=12345678s", ""),
    ("--for=08d", "?for=08d", ""), ("--for=d", "?for=d", ""),
    ("--for=1.5d", "?for=1.5d", ""),
    ("--until=18:00", "2026-01-02T17:00:00Z", "18:00 +0100"),
    ("--until=16:04", "2026-01-03T15:04:00Z", "16:04 +0100"),
    ("--until=16:05", "2026-01-02T15:05:00Z", "16:05 +0100"),
    ("--until=0:08", "2026-01-02T23:08:00Z", "00:08 +0100"),
    ("--until=18:00Z", "2026-01-02T18:00:00Z", "18:00 +0000"),
    ("--until=18:00+05:45", "2026-01-03T12:15:00Z", "18:00 +0545"),
    ("--until=18:00-0330", "2026-01-02T21:30:00Z", "18:00 -0330"),
    ("--until=24:00", "?until=24:00", ""),
]
BERLIN = "CET-1CEST,M3.5.0,M10.5.0/3"
BSD_DATE = """#!/bin/sh
case $1 in
-r) exec /bin/date -d "@$2" "$3" ;;
*) echo 'date: illegal option -- d' >&2; exit 1 ;;
esac
"""


def test_times(run):
    """The leader's clock and the zone of this computer, whose date may be GNU's
    or BSD's."""
    def asked(flag, **env):
        out, _, calls = run("hold", "--all", "--dry-run=client", flag,
                            **{"TZ": BERLIN, **env})
        path = [c[-1] for c in calls if "/status/time" in c[-1]][-1]
        return path.removeprefix(PROXY + "/time"), out.splitlines()[-1]
    for flag, path, shown in run.rows(TIMES):
        path = path if path[0] == "?" else "?until=" + path
        assert asked(flag) == (path, f"held until {UNTIL}" + (
            f" ({shown})" if shown else "") + " (client dry run)"), flag
    (run.bin / "date").write_text(BSD_DATE)
    (run.bin / "date").chmod(0o755)
    assert asked("--until=18:00")[0] == "?until=2026-01-02T17:00:00Z"
    # On the nights when summer time begins and ends, and in a leap year.
    for now, flag, until, shown in (
            ("2026-03-28T23:00:00Z", "--until=18:00", "2026-03-29T16:00:00Z", "18:00 +0200"),
            ("2026-10-24T20:00:00Z", "--until=18:00", "2026-10-25T17:00:00Z", "18:00 +0100"),
            ("2028-02-28T23:30:00Z", "--until=00:10Z", "2028-02-29T00:10:00Z", "00:10 +0000")):
        path, line = asked(flag, TIME=now)
        assert path == "?until=" + until and shown in line, (path, line)
    (run.bin / "date").write_text("#!/bin/sh\nexit 1\n")
    assert "the zone is not known" in run("hold", "--all", "--until=18:00", code=1)[1]


PAGE = """karpenter-node-holder 0.1.0, {now}
replica      pod-a_0123
watching     nodes 9 (NOT NOW), nodeclaims 9, nodepools, events

SCOPE    STATE     SINCE                 UNTIL
{scopes}
NODEPOOL  MACHINES  HELD  BY PEOPLE  OPTED OUT
{pools}
THE LAST 24 HOURS
web              2     2          2          0
"""
HELD = ("cluster  held      2026-01-02T15:00:00Z  2026-01-02T15:10:00Z, when its cap "
        "is used up\n         restarted by b-1, ready since 2026-01-02T15:00:00Z\n"
        "         cap 1h, of which 0s are used\n")
QUIET = "cluster  quiet     2026-01-02T15:00:00Z\n         waits: for a list\n"
CLUSTER = ("cluster until 2026-01-02T15:10:00Z, when its cap is used up: restarted by "
           "b-1, ready since 2026-01-02T15:00:00Z")
STILL = [       # scopes, rows of web and b, arguments, what is still held
    (QUIET, "0 0", "0 0", "--all", ["nothing"]),
    (HELD, "2 0", "1 0", "--all", [CLUSTER]),
    (HELD, "2 0", "1 0", "--nodepool=web", [CLUSTER + ": --all releases it"]),
    (HELD.replace("cluster", "b      "), "0 0", "1 0", "--nodepool=web", ["nothing"]),
    (HELD.replace("cluster", "web    "), "2 0", "1 0", "--nodepool=web",
     [CLUSTER.replace("cluster", "web")]),
    (QUIET, "0 3", "1 1", "--nodepool=web", ["3 machines of NodePool web, by people"]),
    (QUIET, "2 0", "0 0", "--nodepool=web",
     ["2 machines of NodePool web, not for long: waits: for a list"]),
    ("", "1 0\n          hold-until: 2026-01-03T00:00:00Z\n          reason: ML", "0 0",
     "--all", ["NodePool web until 2026-01-03T00:00:00Z: hold-until, reason: ML"]),
    (HELD, "2 1\n          held until 2026-01-03T00:00:00Z by ticket ci of ann: by 9",
     "0 0", "--all", [
         "NodePool web until 2026-01-03T00:00:00Z, for 32155 s: ticket ci of ann: by 9",
         "1 machines of NodePool web, by people"]),
    (QUIET, "2 0\n          hold-until: 2026-01-02T00:00:00Z\n          held until "
     "2026-01-02T15:05:03Z by ticket ci of ann\n          reason: held until 1 by ML",
     "0 0", "--nodepool=web", [
         "NodePool web until 2026-01-02T00:00:00Z: hold-until, reason: held until 1 by ML",
         "NodePool web until 2026-01-02T15:05:03Z, for 58 s: ticket ci of ann"]),
]


def test_what_is_still_held_after_a_release(run):
    for scopes, web, b, who, want in run.rows(STILL):
        rows = "".join(
            f"{name:10} 9 {counts.replace(chr(10), ' 0' + chr(10), 1)}"
            f"{'' if chr(10) in counts else ' 0'}\n          released-at: {UNTIL}\n"
            for name, counts in (("web", web), ("b", b)))
        out, said, calls = run("release", who, SHOWN=PAGE.format(
            now=UNTIL, scopes=scopes, pools=rows), POOLS="\n".join(
                [row(), row("b")][:2 if who == "--all" else 1]))
        assert out.partition(f"released at {UNTIL}\n")[2].splitlines() == [
            "still held: " + line for line in want]
        asked = len([c for c in calls if c[-1] == PROXY + "?format=text"])
        assert asked == (11 if "not for long" in out else 2)
    # The leader has not seen the release yet.
    late = run("release", "--all", SHOWN=PAGE.format(
        now=UNTIL, scopes=HELD, pools="web 9 2 0 0\n"))[2]
    assert len([c for c in late if c[-1] == PROXY + "?format=text"]) == 11
    assert "warning: what is still held is not known: " in run(
        "release", "--all", "--force", FAILS=PROXY + "?format=text", ERROR="x")[1]


def test_ones_own_ticket_that_is_over_is_waited_for(run):
    """The leader may not have seen yet that it is gone.  What is left then is
    its first minute."""
    def asked(until):
        out, _, calls = run("release", "--all", TICKET=ticket_of("ann"),
                            SHOWN=PAGE.format(now=UNTIL, scopes=QUIET, pools=(
                                "web 9 2 0 0\n          released-at: " + UNTIL +
                                f"\n          held until {until} by ticket "
                                f"{run.named(calls_before)} of ann\n")))
        return len([c for c in calls if c[-1] == PROXY + "?format=text"]), out
    calls_before = run("resume", "--all", TICKET=ticket_of("ann"))[2]
    assert asked("2026-01-02T15:05:06Z")[0] == 11
    number, out = asked("2026-01-02T15:05:05Z")
    assert number == 2 and "2026-01-02T15:05:05Z, for 60 s: ticket hold-" in out


REFUSED = {     # arguments: what is said
    "": "expected NODE, --nodepool P or --all",
    "--all --nodepool a": "expected one NODE, or --nodepool, or --all",
    "a b": "expected one NODE,",
    "a --nodepool b": "expected one NODE,",
    "--nodepool a,b": '--nodepool: "a,b", expected a name',
    "--nodepool --all": '--nodepool: "--all", expected a name',
    "--nodepool": "--nodepool: missing, expected a value",
    # To kubectl annotate this is an annotation to take off.
    "--nodepool a b-": '--nodepool: "b-", expected a name',
    "--nodepool .": '--nodepool: ".", expected a name',
    "--nodepool a Web": '"Web", expected a name',
    "web --all": "expected one NODE,",
    "nodepool/web": "did you mean --nodepool web?",
    "W": 'release: "W", expected a name',
    "node/../x": 'release: "../x", expected a name',
    "--all=false": '--all: "false", expected no value',
    "--all --dry-run=maybe": '"maybe", expected client or server',
    "--all --for=2h": "unknown flag: --for",
    "--all --selector=a": "unknown flag: --selector",
    "--all -n ../x": '"../x", expected a name',
    "--all -o yaml": "unknown flag: --output",
}


def test_what_is_refused(run):
    """In one line, before kubectl is asked anything."""
    rows = [("release", *a.split(), s) for a, s in REFUSED.items()] + [
        ("hold", "--all", "expected one of --for"),
        ("hold", "--all", "--for=2h", "--until=x", "expected one of --for"),
        ("hold", "a", "--for=2h", "a hold of one Node has no end"),
        ("hold", "a", "--all", "expected one NODE,"),
        ("hold", "--all", "--for=2h", "--reason=" + "ä" * 129, "256 bytes"),
        ("hold", "--all", "--for=2h", "--reason=a\nb", "expected one line"),
        ("why", "expected the name of one"),
        ("why", "a", "b", "expected the name of one"),
        ("why", "*", '"*", expected a name'),
        # The API server would take it for /status.
        ("why", "..", '"..", expected a name'),
        ("status", "-o", "yaml", '"yaml", expected text or json'),
        ("status", "--nodepool=web", "expected --nodes"),
        ("status", "--nodes", "--nodepool", "a", "b", "expected one NodePool"),
        ("why", "--nodes", "a", "unknown flag: --nodes"),
        ("bogus", 'unknown command "bogus"')]
    for *args, want in rows:
        out, said, calls = run(*args, code=1)
        assert want in said and re.fullmatch("error: .*\n", said), (args, said)
        assert not out and not calls
    for args in ((), ("--help",), ("hold", "-h")):
        assert "Usage:" in run(*args)[0]


def test_all_machines(run):
    for flags, query in ([], "text"), (["-ojson"], "json"), (
            ["--nodepool", "a.b"], "text&nodepool=a.b"):
        out, said, calls = run("status", "--nodes", *flags)
        assert (out, said) == ("shown\n", "")
        assert calls[-1][-1].endswith(f"/status/machines?format={query}")
    assert "has no page /status/machines: is the holder as new" in run(
        "status", "--nodes", code=1, FAILS=PROXY + "/machines",
        ERROR="Error from server (NotFound): the server could not find the "
              "requested resource")[1]


def test_what_fails_is_said_once(run):
    """One line for each error; what else kubectl says is not kept back."""
    def said(*args, code=1, **env):
        return run(*args, code=code, **env)[1]
    gone = said("status", FAILS=LEASE, ERROR=(
        "E0102 15:04:05.1 1 memcache.go:1] Unhandled Error\n"
        "Unable to connect to the server: dial tcp: no such host"))
    assert gone == ("error: Unable to connect to the server: dial tcp: no such "
                    "host\n")
    assert said("status", code=0, SAYS="Code: 1234") == "Code: 1234\n" * 3
    assert said("status", FAILS=LEASE, ERROR="Oh!") == (
        "Oh!\nerror: kubectl failed\n")
    assert said("status", HOLDER="") == (
        "error: no replica leads: nobody has the Lease karpenter-node-holder in "
        "namespace karpenter-node-holder\n")
    # What has passed when its message is asked for is asked for again.
    assert run("status", ONCE=PROXY + "?format=text")[:2] == ("shown\n", "")
    assert run("status", FAILS=PROXY, ERROR="error trying to reach service: no",
               ONCE="/status?format=text")[:2] == ("shown\n", "")
    # Whoever may write the Lease gives kubectl no flag, and a terminal nothing.
    for holder in "--server=x_1", "..", "a/b_1", r"\u001b]0;x_1", r"a\nb":
        assert said("status", HOLDER=holder) == (
            "error: the Lease karpenter-node-holder in namespace "
            "karpenter-node-holder does not name a Pod\n")
    assert "get\npods\npod-a" in "\n".join(run("status", HOLDER="POD-A_1")[2][1])
    # Nothing is held where there is nothing.
    for command in ("hold", "--for=2h"), ("release",), ("resume",):
        out, text, _ = run(*command, "--all", code=1, POOLS="")
        assert (out, text) == ("", "error: there are no NodePools\n")
    # A single replica without leader election; and more, without a Lease.
    none = {"FAILS": LEASE,
            "ERROR": "Error from server (NotFound): leases \"x\" not found"}
    assert run("status", PODS="pod-a 8080\n", **none)[0] == "shown\n"
    assert "2 replicas" in said("status", PODS="a 1\nb 2\n", **none)
    assert "-n" in said("status", PODS="", **none)
    # What kubectl did before it failed is shown.
    out, text, _ = run("release", "--all", code=1, FAILS="patch", ERROR=(
        'Error from server (Forbidden): nodepools "web" is forbidden: User "u" '
        "cannot patch resource"))
    assert text == (
        'error: User "u" cannot patch resource: the ClusterRole '
        "karpenter-node-holder-operator gives this right "
        "(deploy/components/access)\n")
    # A policy that refuses is no missing right.
    text = said("release", "--all", FAILS="patch", ERROR=(
        'Error from server (Forbidden): nodepools.karpenter.sh "web" is '
        "forbidden: ValidatingAdmissionPolicy 'p' denied request: not tonight"))
    assert text == ("error: forbidden: ValidatingAdmissionPolicy 'p' denied "
                    "request: not tonight\n")


# What a terminal obeys, and bytes that are no UTF-8: alone, cut, overlong forms
# of U+009B, half of a surrogate pair, and above U+10FFFF.
OBEYED = [chr(c) for c in (
    *range(1, 9), *range(11, 32), *range(0x7f, 0xa0), 0x61c, 0x200e, 0x200f,
    *range(0x2028, 0x202f), *range(0x2066, 0x2070))]
NO_UTF8 = [b"\x9b", b"\xff", b"\xe2\x80", b"\xc1\x9b", b"\xe0\x82\x9b",
           b"\xf0\x80\x82\x9b", b"\xed\xa0\x80", b"\xf4\x90\x80\x80",
           b"\xc3\xa9\x9b"]
HOSTILE = "x".join([*OBEYED, *map(os.fsdecode, NO_UTF8), ""])
PEOPLES = "\u00e9\u00a0\u05d0\u061b\u200d\u2026\u20ac\ue000\U0001f600z"
GONE = "Error from server (NotFound): x"
LEADERS = {     # who says it: arguments, what it says, what else kubectl does
    "a page": (["status"], {"SHOWN": "{}"}, {}),
    "a page as JSON": (["why", "a", "-o", "json"], {"SHOWN": "{}"}, {}),
    "a page that is forwarded": (["status"], {"SHOWN": "{}"}, {
        "FAILS": PROXY, "ERROR": "error trying to reach service: EOF"}),
    "a page after a hold": (["hold", "--all", "--for=2h"], {
        "SHOWN": "c\na{}\n  left out: excluded"}, {}),
    "an error": (["status"], {"ERROR": "Error from server (X): {}"},
                 {"FAILS": PROXY}),
    "kubectl": (["status"], {"SAYS": "{}"}, {}),
    "a time": (["release", "--all"], {"TIME": "{}"}, {}),
    "a NodePool": (["release", "--all"], {"WEB": "{}"}, {}),
    "one that is disabled": (["hold", "--all", "--for=2h"], {
        "POOLS": '{} 7 {"' + OWN + 'enabled":"false"}'}, {}),
    "a hold": (["hold", "--all", "--for=2h"], {
        "POOLS": 'web 7 {"' + OWN + 'hold-until":"{}"}'}, {}),
    "one whose hold is left": (["hold", "--all", "--for=2h"], {
        "POOLS": '{} 7 {"' + OWN + 'hold-until":"x"}'}, {}),
    "one that is replaced": (["resume", "--all", "--force"], {
        "POOLS": 'web 7 {"' + OWN + 'hold-until":"{}"}'}, {}),
    "a user": (["hold", "--all", TO_EVENING], {"WHO": '"{}"'}, EVENING),
    "a hold beside a ticket": (["hold", "--all", "--for=2h"], {
        "POOLS": 'web 7 {"' + OWN + 'hold-until":"{}"}'}, READS),
    "a Node": (["resume", "a"], {
        "NODE": '7\nweb\ntrue\n{"' + OWN + 'reason":"{}"}'}, {}),
    "one to complete": (["__complete", "hold", "--nodepool", ""],
                        {"ROWS": "{}"}, {}),
    "a Lease": (["status"], {"HOLDER": "pod-a_{}"},
                {"FAILS": "pod-a", "ERROR": GONE}),
    "a Pod": (["status"], {"PODS": "{} 1"}, {"FAILS": LEASE, "ERROR": GONE}),
}


@pytest.mark.parametrize("who", LEADERS)
def test_nothing_that_a_terminal_obeys(run, who):
    """Whoever says it.  What people write stays as it is."""
    args, says, more = LEADERS[who]

    def said(text):
        out, err, _ = run(*args, code=None, **more, **{
            variable: form.replace("{}", f"({text})")
            for variable, form in says.items()})
        return out + err
    shown = said(HOSTILE)
    assert "(?x?x" in shown and "?x)" in shown
    assert not set(OBEYED) & set(shown)
    assert f"({PEOPLES})" in said(PEOPLES)


def test_a_backslash_is_no_more_than_that(run):
    """`echo` of dash makes a control character of it."""
    reason = r"a\033[31m\nb\cd"
    for args in (["hold", "--for=2h"], ["release"], ["resume"]):
        out = run(*args, "--all", "--force", POOLS=row(
            hold_until=UNTIL, reason=reason))[0]
        assert f"reason: {reason}\n" in out, (args, out)


def test_what_is_no_time_is_not_written(run):
    for time in ("1Z", "", UNTIL + "Z", "0" + UNTIL, UNTIL + "\nZ",
                 "1\n" + UNTIL, UNTIL.replace("Z", ".5Z"), "1,b=c Z",
                 "2026-99-02T15:04:05Z", "2026-01-02T15:99:05Z"):
        out, said, calls = run("release", "--all", code=1, NOW="", TIME=time)
        assert not out and "expected a time" in said, (time, said)
        assert not any("patch" in c for c in calls)


def test_an_answer_without_an_end(run):
    """… has a bound, and is not shown."""
    out, said, _ = run("status", code=1, ENDLESS="yes")
    assert not out and said.endswith("the answer has more than 67108864 bytes\n")


def test_variables_are_its_own(run):
    """What is exported under the name of one changes nothing."""
    names = set(re.findall(r"(?:^|[\s;({])([A-Za-z_]+)=", PLUGIN.read_text()))
    names |= {n for line in re.findall(r"\bread -r ([a-z ]+)", PLUGIN.read_text())
              for n in line.split()}
    names -= {"GOGC", "KUBECONFIG", "IFS", "LC_ALL"}  # the user's
    assert {"pod", "port", "lasting", "from", "line", "time"} <= names
    none = {"FAILS": LEASE, "ERROR": GONE}
    for args, env in (
            (["status"], {}), (["why", "a", "-ojson"], {}),
            (["hold", "--for=2d", "--nodepool", "web"], {
                "POOLS": row(hold_until=UNTIL)}),
            (["hold", "--for=2h", "--nodepool", "web"], READS | {
                "ENDS": UNTIL, "TICKET": ticket_of("ann")}),
            (["hold", TO_EVENING, "--all"], {"HOLDER": ""}),
            (["release", "--all"], {"TICKET": ticket_of("ann")}),
            (["hold", "--until=18:00", "--all"], {"TZ": BERLIN, "RACE": "yes",
                                                  "LATER": row(released_at="x")}),
            (["release", "--all"], {}),
            (["resume", "--all"], {"POOLS": row(released_at=UNTIL)}),
            (["open", "--dry-run=client"], {}), (["open"], {
                "LOST": "yes", **UNREACHED}),
            (["status"], none | {"PODS": "pod-a 1\n"}),
            (["status"], none | {"PODS": " \n"}),
            (["status"], {"FAILS": PROXY, "ERROR": "error trying to reach service"}),
            (["check"], {}), (["version"], {}),
            (["__complete", "why", "--context=a", ""], {"ROWS": "a b"})):
        alone = run(*args, code=None, **env)
        leaked = dict.fromkeys(names, "pod-a") | env
        assert run(*args, code=None, variables=leaked) == alone, args


def test_open_needs_no_more_than_the_viewer_has(run):
    """kubectl proxy leads to the page of the leader, and nowhere else."""
    page = PROXY.removesuffix("status")
    out, said, calls = run("open", code=1, NEXT="yes")
    assert out == (f"http://127.0.0.1:4712{page}\n"
                   f"http://127.0.0.1:4712{page.replace('pod-a', 'pod-b')}\n")
    assert re.fullmatch("error: .*cannot.*\n", said), said
    shown = run("open", "--dry-run=client", "--context=a b")[0]
    assert shown == (f"kubectl --context='a b' 'proxy' '--port=0' '--accept-paths="
                     f"^{page}(status(/.*)?)?$' '--reject-methods=^[^GH]'\n")
    _, proxy, other, _ = [c for c in calls if c[0] == "proxy"]
    assert proxy == ["proxy", "--port=0", f"--accept-paths=^{page}(status(/.*)?)?$",
                     "--reject-methods=^[^GH]"]
    assert other[2] == proxy[2].replace("pod-a", "pod-b")
    accepted = re.compile(proxy[2].partition("=")[2])
    for path in "", "status", "status/machines/a.b", "status/time":
        assert accepted.search(page + path)
    for path in page + "metrics", page + "statuses", page[:-1], "/", "/x" + page:
        assert not accepted.search(path), path
    assert not re.search(proxy[3].partition("=")[2], "GET")
    for method in "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "CONNECT":
        assert re.search(proxy[3].partition("=")[2], method)


UNREACHED = {"FAILS": PROXY, "ERROR": "error trying to reach service: EOF"}


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM],
                         ids=lambda n: n.name)
def test_who_is_interrupted_leaves_no_port_open(run, number):
    """Ctrl-C reaches the whole group.  Nobody of it is left."""
    with subprocess.Popen(
            [*run.shell, PLUGIN, "open"], stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
            start_new_session=True, env=run.env) as process:
        assert process.stdout.readline().startswith(b"http://127.0.0.1:")
        os.killpg(process.pid, number)
        process.wait(30)

        def is_over():
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, 0)
                return False
            return True
        try:
            wait(is_over, "nobody is left")
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)


def test_open_follows_the_lead(run):
    """When its Pod goes, a page that is forwarded keeps its URL."""
    out, said, calls = run("open", code=1, LOST="yes", **UNREACHED)
    assert out == "http://127.0.0.1:4711/\n"
    lost, refused = said.splitlines()
    assert lost == "error: lost connection to pod"
    assert "give you create on pods/portforward" in refused
    forwards = [c for c in calls if "port-forward" in c]
    assert [c[-2:] for c in forwards] == [
        ["pods/pod-a", ":8080"], ["pods/pod-a", ":8080"], ["pods/pod-a", "4711:8080"]]


def test_what_is_forwarded_is_not_waited_for(run):
    """A leader that hangs keeps nobody who is near it for ever, either."""
    blocked = {"FAILS": PROXY, "ERROR": "error trying to reach service: EOF"}
    for flags, wait in ([], "15s"), (["--request-timeout=2s"], "2s"):
        out, said, calls = run("status", *flags, **blocked)
        assert (out, said) == ("shown\n", "")
        assert calls[-1] == ["--server=http://127.0.0.1:4711", "get",
                             f"--request-timeout={wait}", "--raw",
                             "/status?format=text"]
    # Each way is tried once, and what does not answer is said.
    out, said, calls = run("status", code=1, HANGS="yes", **blocked)
    assert said == ("error: Pod pod-a does not answer: Unable to connect to the "
                    "server: Client.Timeout exceeded\n")
    assert len([c for c in calls if c[0].startswith("--server")]) == 2


def test_the_program_beside_it(run):
    """uninstall and check are those of holderctl, where it is."""
    for command in ("uninstall", "check"):
        for args in (["-n", "platform"], ["-nplatform"],
                     ["--context", "a", "--namespace=platform"]):
            said = run(command, *args, code=1)[1]
            assert f"kubectl apply -k deploy/{command}\n" in said
            assert "-n platform logs --follow" in said
    (run.bin / "holderctl").write_text(
        '#!/bin/sh\nprintf "%s\\n" "$@"\nexit 3\n')
    (run.bin / "holderctl").chmod(0o755)
    assert run("uninstall", "-n", "platform", "--dry-run=server", "--context",
               "a b", "--dry-run=none", code=3)[0].splitlines() == [
        "uninstall", "--namespace", "platform", "--dry-run", "--context", "a b"]
    for job, flags in ("uninstall", ["--dry-run"]), ("check", []):
        assert run(job, "--dry-run", "client", code=3)[0].splitlines() == [
            job, *flags]
    assert run("check", "-ojson", "--lease=other", "--dry-run=client",
               code=3)[0].splitlines() == [
        "check", "-ojson", "--leader-election-name=other"]


def test_completion(run):
    def complete(*args, **env):
        *found, last = run("__complete", *args, **env)[0].splitlines()
        assert last == ":4"
        return found
    assert complete("re") == ["release", "resume"]
    assert complete("hold", "--nodepool", "w", ROWS="web\nbatch") == ["web"]
    assert complete("hold", "--nodepool", "", ROWS="/*\n*") == ["/*", "*"]
    assert complete("hold", "--for", "") == []
    assert complete("hold", "--for", "2h", "--no") == ["--nodepool"]
    assert complete("hold", "--ann") == ["--annotate"]
    for command in "hold", "release", "resume":
        assert complete(command, "--tick") == ["--tickets-namespace"]
    assert not complete("status", "--tick") and not complete("release", "--ann")
    assert complete("hold", "--tickets-namespace", "t", ROWS="t-1\nn") == ["t-1"]
    assert complete("status", "-o", "") == ["text", "json"]
    assert complete("status", "--node") == ["--nodes", "--nodepool"]
    for command in "why", "hold", "release", "resume":
        assert complete(command, "n", ROWS="node-1\nclaim") == ["node-1"]
    calls = run("__complete", "why", "--context=it's", "n")[2]
    assert calls[0][0] == "--context=it's"


def test_it_needs_nothing_but_kubectl():
    """Beside the utilities of POSIX, and mktemp, which every system has."""
    text = PLUGIN.read_text()
    for program in ("curl", "wget", "jq", "base64", "python"):
        assert not re.search(rf"(^|[|&;(]|\$\()\s*{program}\b", text, re.M)
    assert f"VERSION={VERSION}\n" in text
    for file in ("kubectl-karpenter_holder", "kubectl_complete-karpenter_holder"):
        assert os.access(PLUGIN.parent / file, os.X_OK)


def test_install_replaces_the_link_of_earlier_versions(tmp_path):
    """It led to the program, which has to stay what it is."""
    there = tmp_path / "usr/local/bin"
    there.mkdir(parents=True)
    (there / "karpenter-node-holder").write_text("the program")
    (there / "kubectl-karpenter_holder").symlink_to("karpenter-node-holder")
    subprocess.run(["make", "-s", "install-plugin", f"DESTDIR={tmp_path}"],
                   cwd=REPO, check=True, timeout=60)
    assert (there / "karpenter-node-holder").read_text() == "the program"
    assert (there / "kubectl-karpenter_holder").read_text() == PLUGIN.read_text()


def test_nobody_gets_the_pod_proxy_unasked():
    """Only Roles that are bound by hand, and the check's, have it, only to get,
    and no role that is aggregated to view or edit."""
    found = []
    for file in (REPO / "deploy").rglob("*.yaml"):
        if "helm" in file.parts:    # these are made from the others
            continue
        for o in yaml.safe_load_all(file.read_text()):
            if not isinstance(o, dict) or \
                    not str(o.get("kind")).endswith("Role"):
                continue
            assert not any("aggregate-to" in label for label in
                           o["metadata"].get("labels", {})), file
            assert "aggregationRule" not in o
            found += [(o["kind"], o["metadata"]["name"], rule["verbs"])
                      for rule in o["rules"]
                      if {"pods/proxy", "*"} & set(rule["resources"])]
    assert sorted(found) == [
        ("Role", f"karpenter-node-holder-{name}", ["get"])
        for name in ("check", "checker", "viewer")]


# Krew

URL = "https://example.com/o/karpenter-node-holder"
SUPPORTED = {(system, arch) for system, all_of in {
    "windows": "386 amd64 arm64", "linux": "386 amd64 arm arm64 ppc64le",
    "darwin": "386 amd64 arm64"}.items() for arch in all_of.split()}


@pytest.fixture(scope="module")
def krew(tmp_path_factory):
    out = tmp_path_factory.mktemp("krew")
    subprocess.run([REPO / "plugin/krew.sh", VERSION, out, URL], check=True,
                   timeout=60, stdout=subprocess.DEVNULL)
    return out


def matched(selector):
    """The platforms that a label selector chooses."""
    assert selector and set(selector) <= {"matchLabels", "matchExpressions"}
    found = set()
    for system, arch in SUPPORTED:
        labels = {"os": system, "arch": arch}
        terms = [(k, [v]) for k, v in selector.get("matchLabels", {}).items()]
        for e in selector.get("matchExpressions", []):
            assert e["operator"] == "In"
            terms.append((e["key"], e["values"]))
        assert terms
        if all(labels[key] in values for key, values in terms):
            found.add((system, arch))
    return found


def test_the_manifest_is_one_of_krews(krew):
    file = krew / "karpenter-holder.yaml"
    text = file.read_text()
    assert "@" not in text.replace('"$@"', "")
    manifest = yaml.safe_load(text)
    assert manifest["apiVersion"] == "krew.googlecontainertools.github.com/v1alpha2"
    assert manifest["kind"] == "Plugin"
    name, spec = manifest["metadata"]["name"], manifest["spec"]
    assert name == file.stem and re.fullmatch(r"[a-z]+(-[a-z]+)*", name)
    assert not name.startswith("kube")
    # The link that Krew makes has to be called as kubectl looks for it.
    assert f"kubectl-{name.replace('-', '_')}" == PLUGIN.name
    assert re.fullmatch(r"v\d+\.\d+\.\d+(-[0-9A-Za-z.-]+)?", spec["version"])
    assert spec["homepage"] == URL
    short = spec["shortDescription"]
    assert short and "\n" not in short and len(short) <= 50
    assert spec["description"].strip()
    chosen = [matched(p["selector"]) for p in spec["platforms"]]
    assert all(chosen) and sum(map(len, chosen)) == len(set.union(*chosen))
    assert not any(system == "windows" for system, _ in set.union(*chosen)), \
        "there the plugin would have to be an .exe"
    for platform in spec["platforms"]:
        assert set(platform) <= {"selector", "uri", "sha256", "bin", "files"}
        archive = krew / platform["uri"].rpartition("/")[2]
        assert platform["uri"].startswith("https://") \
            and archive.name.endswith(".tar.gz")
        assert platform["sha256"] == hashlib.sha256(
            archive.read_bytes()).hexdigest()
        with tarfile.open(archive) as tar:
            members = {m.name: m for m in tar.getmembers()}
            assert "LICENSE" in members
            assert members[platform["bin"]].mode & 0o111 == 0o111
            assert tar.extractfile(platform["bin"]).read() == \
                PLUGIN.read_bytes()


def test_the_archive_is_the_same_each_time(krew, tmp_path):
    copy = shutil.copytree(REPO / "plugin", tmp_path / "r" / "plugin")
    shutil.copy(REPO / "LICENSE", copy.parent)
    for file in copy.iterdir():
        os.utime(file, (1, 1))
    subprocess.run([copy / "krew.sh", VERSION, tmp_path / "out", URL],
                   check=True, timeout=60, stdout=subprocess.DEVNULL)
    name = f"kubectl-karpenter_holder-v{VERSION}.tar.gz"
    assert (tmp_path / "out" / name).read_bytes() == \
        (krew / name).read_bytes()
