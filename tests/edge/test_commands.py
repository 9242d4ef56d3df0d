# SPDX-License-Identifier: Apache-2.0
"""The commands as processes: what they print, on which stream, and how they
end."""
import base64
import contextlib
import datetime
import json
import os
import pathlib
import pty
import re
import shutil
import socket
import stat
import subprocess
import tempfile
import time

import pytest
import said
import yaml

from conftest import (HOLDER, HOLDERCTL, PATIENCE, REPO, REPORT, environment,
                      spawn)

HEAD = "apiVersion: karpenter-node-holder.io/v1\nkind: HolderConfig\n"
NAME = "karpenter-node-holder: "
COMMANDS = [(p, c) for p, commands in (
    (HOLDER, ("serve", "check", "certs", "version")),
    (HOLDERCTL, ("check", "uninstall", "simulate", "record", "hold",
                 "version")))
    for c in commands]


class Done:
    """A process that has ended."""

    def __init__(self, done):
        self.name = pathlib.Path(done.args[0]).name + ": "
        self.code, self.out, self.err = (
            done.returncode, done.stdout, done.stderr)
        said.keep_text("commands", f"{self.out}{self.err}")
        assert not REPORT.search(self.err), self.err

    def warnings(self):
        return [line[len(self.name + "warning: "):]
                for line in self.err.splitlines()
                if line.startswith(self.name + "warning: ")]

    def config(self):
        assert self.code == 0, self.err
        return yaml.safe_load(self.out)


def runner(program, tmp_path):
    """run("check", "--config", "f", NAME="value") runs it in an empty folder.
    """
    if not program.exists():
        pytest.fail(f"{program} is missing: make all")

    def run(*args, pass_fds=(), **env):
        return Done(subprocess.run(
            [program, *map(str, args)], cwd=tmp_path, text=True,
            pass_fds=pass_fds,
            env={**environment(tmp_path), **env}, timeout=PATIENCE,
            stdin=subprocess.DEVNULL, capture_output=True))
    return run


@pytest.fixture
def run(tmp_path):
    return runner(HOLDER, tmp_path)


@pytest.fixture
def holderctl(tmp_path):
    return runner(HOLDERCTL, tmp_path)


@pytest.fixture
def config(tmp_path):
    """config(text) writes a configuration file and adds its head."""
    def write(text, head=HEAD):
        path = tmp_path / "config.yaml"
        path.write_bytes((head + text).encode("utf-8", "surrogateescape"))
        return path.name
    return write


def refused(done, *words):
    """It exits with 2 and prints nothing on stdout, and one line with all
    these words on stderr."""
    assert (done.code, done.out) == (2, "")
    line, = done.err.splitlines()
    assert line.startswith(done.name), line
    for word in words:
        assert word in line, (word, line)
    return line


# --- version, help, unknown words ------------------------------------------

def test_version(run, holderctl):
    for program in run, holderctl:
        for args in (["version"], ["--version"]):
            done = program(*args)
            assert (done.code, done.err) == (0, "")
            assert re.fullmatch(re.escape(done.name[:-2]) + r" \d+\.\d+\.\d+\n",
                                done.out)


@pytest.mark.parametrize("flag", ["--help", "-h", "help"])
def test_help(tmp_path, flag):
    for program, command in COMMANDS:
        done = runner(program, tmp_path)(flag)
        assert (done.code, done.err) == (0, "")
        assert re.search(rf"^ +{command} ", done.out, re.M)


@pytest.mark.parametrize("program, command", COMMANDS)
@pytest.mark.parametrize("flag", ["--help", "-h"])
def test_help_of_each(tmp_path, program, command, flag):
    done = runner(program, tmp_path)(command, flag)
    assert (done.code, done.err) == (0, "")
    assert done.out.startswith(f"Usage: {program.name} {command}")


def test_commands_of_the_other_program(tmp_path):
    """Each program says which one has a command that it does not have."""
    asked = 0
    for program, command in COMMANDS:
        other, = {HOLDER, HOLDERCTL} - {program}
        if (other, command) not in COMMANDS:
            for flag in (), ("--help",):
                refused(runner(other, tmp_path)(command, *flag),
                        f"{command} is a command of {program.name}",
                        f"'{program.name} {command} --help'")
            asked += 1
    assert asked == 6


@pytest.mark.parametrize("command", ["serve", "check"])
def test_help_lists_every_flag(run, command):
    """Every scalar of the configuration file has a flag in kebab-case, which
    shows its default."""
    out = run(command, "--help").out
    flags = dict(re.findall(r"^    --([a-z-]+)=(.*):$", out, re.M))
    for key in ("config", "kubeconfig", "context"):
        assert flags.pop(key) == "''"
    for key, value in run("check").config().items():
        members = value.items() if isinstance(value, dict) else [("", value)]
        for inner, scalar in members:
            name = key + inner[:1].upper() + inner[1:]
            flag = re.sub(r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])",
                          "-", name).lower()
            if key in ("apiVersion", "kind") or isinstance(scalar, list):
                assert flag not in flags
            else:
                flags.pop(flag)
    assert not flags


@pytest.mark.parametrize("args, words", [
    ([], ["expected a command"]),
    ([""], ['unknown command ""']),
    (["frob"], ['unknown command "frob"']),
    (["Serve"], ['unknown command "Serve"']),
    (["status"], ['unknown command "status"']),     # a later version has it
    (["--frob"], ['unknown flag "--frob"']),
    (["version", "x"], ['unexpected argument "x"']),
    (["version", "--frob"], ["unknown flag --frob"]),
    (["check", "--frob"], ["unknown flag --frob"]),
    (["check", "--hold_duration", "1m"], ["unknown flag --hold_duration"]),
    (["check", "x"], ['unexpected argument "x"']),
    (["check", "-c", "x"], ['unexpected argument "-c"']),
    (["check", "--config"], ["--config", "expected a value"]),
    (["check", "--" + "f" * 200], ["unknown flag --ff"]),
    (["check", "--nodePools"], ["unknown flag --nodePools"]),
    (["serve", "--frob=1"], ["unknown flag --frob"]),
    (["serve", "x"], ['unexpected argument "x"']),
    (["certs", "--frob"], ["unknown flag --frob"]),
    (["certs", "--new-ca=yes", "--out", "d"], ["--new-ca", "no value"]),
    (["certs"], ["expected --out DIR"]),
    (["certs", "--out", ""], ["expected --out DIR"]),
    (["certs", "--out"], ["--out", "expected a value"]),
    (["certs", "d"], ['unexpected argument "d"']),
])
def test_unknown_words(run, args, words):
    refused(run(*args), *words)


@pytest.mark.parametrize("args, words", [
    (["frob\nx"], ["unknown command"]),
    (["check", "x\ny"], ["unexpected argument"]),
    (["check", "--x\ny"], ["unknown flag"]),
    (["check", "--scope", "x\ny"], ["--scope", "expected"]),
    (["check", "--config", "x\ny"], ["No such file"]),
    (["certs", "--inspect", "--cert", "x\ny", "--key", "z"],
     ["No such file"]),
    (["check", "\x1b[2J"], ["unexpected argument"]),
])
def test_control_bytes_in_arguments(run, args, words):
    """They cannot make two lines of one, and cannot control the terminal."""
    assert "\x1b" not in refused(run(*args), *words)


# --- check: what it prints -------------------------------------------------

def test_defaults(run):
    done = run("check")
    c = done.config()
    assert c["scope"] == "cluster" and c["holdDuration"] == "10m"
    assert c["holdAnnotation"] == {"key": "karpenter.sh/do-not-disrupt",
                                   "value": "true"}
    assert c["patchConcurrency"] == 64 and c["minScaleUp"] == 1
    assert c["webhook"]["drainTimeout"] == "1m35s"
    assert c["leaderElection"]["enabled"] is True
    assert c["maxHoldDuration"] == "1h" and c["releaseWindow"] == "10m"
    # Features of later versions are off by default.
    assert c["replacements"] == "ignore"
    assert [w for w in done.warnings() if "certificate" in w]


def test_what_is_printed_can_be_read(run, config):
    first = run("check", "--config", config(
        'scope: nodepool\nholdDuration: 90s\n'
        'nodePools: {include: ["a*", "b[!\\"\\u00e9]"], exclude: ["a-*"]}\n'
        'webhook: {address: "[::1]:1", certFile: "x y", keyFile: "#k"}\n'
        'logging: {format: text, level: warn}\n'))
    c = first.config()
    assert c["holdDuration"] == "1m30s"
    assert c["nodePools"] == {"include": ["a*", 'b[!"\u00e9]'],
                              "exclude": ["a-*"]}
    again = run("check", "--config", config(first.out, head=""))
    assert again.out == first.out


def test_flags_environment_file(run, config):
    """The sources take precedence in the order of this name; the defaults come
    last."""
    file = config("holdDuration: 3m\nholdAnnotation: {key: file.io/a}\n"
                  "scope: node\n")

    def hold(*args, **env):
        c = run("check", *args, **env).config()
        return c["holdDuration"], c["holdAnnotation"]["key"], c["scope"]
    default = "karpenter.sh/do-not-disrupt"
    assert hold() == ("10m", default, "cluster")
    assert hold("--config", file) == ("3m", "file.io/a", "node")
    env = {"HOLD_DURATION": "7", "HOLD_ANNOTATION": "env.io/a"}
    assert hold(**env) == ("7m", "env.io/a", "cluster")
    assert hold("--config", file, **env) == ("7m", "env.io/a", "node")
    assert hold("--hold-duration", "9m", "--config", file, **env) == (
        "9m", "env.io/a", "node")
    assert hold("--hold-duration=9m", "--hold-duration=8m") == (
        "8m", default, "cluster")
    assert hold(HOLD_DURATION="", HOLD_ANNOTATION="") == hold()
    assert hold(HOLD_DURATION="90s")[0] == "1m30s"


def test_room(run):
    """Tickets take the room of eight thousand machines."""
    def machines(*args):
        return int(re.search(r"room for (\d+) Nodes", run("check", *args).err
                             )[1])
    assert 130000 < machines() < 132000
    assert 122000 < machines("--tickets-namespace", "t") < 124000


def test_warnings(run):
    """Warnings go to stderr, and the resulting configuration is printed all
    the same."""
    for args, env, word in [
            ([], {"INITIAL_DELAY": "60"}, "INITIAL_DELAY"),
            ([], {"HOLD_ANNOTATION": "karpenter.sh/do-not-consolidate"},
             "do-not-consolidate"),
            (["--release-window", "1m"], {}, "releaseWindow"),
            (["--webhook-drain-timeout", "10s"], {}, "drainTimeout"),
            (["--hold-duration", "5s"], {}, "holdDuration"),
            (["--startup-timeout", "5s"], {}, "startupTimeout"),
            (["--scope", "node", "--min-scale-up", "2%"], {}, "minScaleUp"),
            (["--tickets-namespace", "t"], {"MEMORY_LIMIT": "71Mi"},
             "tickets.namespace"),
            (["--self-signed-enabled=true", "--leader-election-enabled",
              "false"], {}, "leaderElection.enabled"),
            (["--self-signed-enabled=true", "--self-signed-duration", "59m"],
             {}, "selfSigned.duration"),
            (["--self-signed-enabled=true", "--self-signed-ca-duration",
              "6479h"], {}, "selfSigned.caDuration")]:
        done = run("check", *args, **env)
        assert done.config()
        line, = [w for w in done.warnings() if "certificate" not in w]
        assert word in line


# --- check and serve: what they refuse -------------------------------------

@pytest.mark.parametrize("text, words", [
    ("frob: 1\n", ["3:1", "frob", "expected"]),
    ("webhook: {frob: 1}\n", ["3:11", "webhook.frob", "expected"]),
    ("scope: cluster\nscope: node\n", ["4:1", "scope", "twice"]),
    ("scope: pool\n", ["3:8", '"pool"', "cluster|nodepool|node"]),
    ("scope: [a]\n", ["3:8", "scope", "expected"]),
    ("scope:\n", ["scope", "expected"]),
    ("holdDuration: 10\n", ["3:15", '"10"', "duration"]),
    ("holdDuration: -1m\n", ["3:15", "duration"]),
    ("holdDuration: 0\n", ["3:15", "above 0"]),
    ("holdDuration: 99999h\n", ["3:15", "duration"]),
    ("holdDuration: {a: b}\n", ["3:15", "duration"]),
    ("patchConcurrency: 0\n", ["3:19", "1 to 100"]),
    ("patchConcurrency: 101\n", ["3:19", "1 to 100"]),
    ('patchConcurrency: "32"\n', ["3:19", "quotes"]),
    ("minScaleUp: 0\n", ["3:13", "1 to 100000"]),
    ("minScaleUp: -1\n", ["3:13", "1 to 100000"]),
    ("minScaleUp: 200%\n", ["3:13", "1% to 100%"]),
    ("holdAnnotation: {value: true}\n", ["3:25", "quote it"]),
    ("holdAnnotation: {key: karpenter-node-holder.io/x}\n",
     ["3:23", "ours"]),
    ("holdAnnotation: {key: a b}\n", ["3:23", "annotation key"]),
    ("holdAnnotation: x\n", ["3:17", "expected a mapping"]),
    ("nodePools: {include: a}\n", ["3:22", "list"]),
    ("nodePools: {include: [[a]]}\n", ["3:23", "pattern"]),
    ("nodePools: {include: [Spot-*]}\n", ["3:23", '"Spot-*"', "pattern"]),
    ("nodePools: {exclude: ['spot-[ab']}\n", ["3:23", "no NodePool"]),
    ("webhook: {address: nine}\n", ["3:20", "host:port"]),
    ('webhook: {address: ":99999"}\n', ["3:20", "host:port"]),
    ('webhook: {certFile: ""}\n', ["3:21", "file"]),
    ("logging: {level: loud}\n", ["3:18", "error|warn|info|debug"]),
    ("scope: &a cluster\nlogging: {level: *a}\n", ["3:8", "anchor"]),
    ("scope: !!str cluster\n", ["3:8", "expected"]),
    ("scope: [\n", ["4:1"]),
    ("\tscope: node\n", ["3:1"]),
    ("scope: node\n---\nscope: node\n", ["4:1"]),
    ("scope: \"\\udcff\"\n", ["3:"]),
])
def test_bad_files(run, config, text, words):
    file = config(text)
    for command in ("check", "serve"):
        refused(run(command, "--config", file), "config.yaml", *words)


@pytest.mark.parametrize("text, words", [
    ('metrics: {address: ":9443"}\n', ["3:20", "metrics.address", "webhook"]),
    ("leaderElection: {leaseDuration: 5s}\n",
     ["3:33", "leaseDuration", "more than"]),
    ("leaderElection: {retryPeriod: 9s}\n",
     ["3:31", "renewDeadline", "more than"]),
    ("selfSigned: {duration: 1s}\n",
     ["3:24", "selfSigned.duration", "more than"]),
    ("selfSigned: {caDuration: 2160h}\n", ["3:26", "caDuration", "more than"]),
])
def test_keys_that_do_not_go_together(run, config, text, words):
    """The values that finally apply are checked, wherever each comes from."""
    file = config(text)
    for command in ("check", "serve"):
        refused(run(command, "--config", file), "config.yaml", *words)


def test_flags_that_do_not_go_together(run):
    refused(run("check", "--leader-election-retry-period", "9s"),
            "--leader-election-retry-period: leaderElection.renewDeadline")


@pytest.mark.parametrize("head, words", [
    ("", ["expected"]),
    ("scope: node\n", ["apiVersion", "karpenter-node-holder.io/v1"]),
    ("apiVersion: karpenter-node-holder.io/v1\n", ["kind", "HolderConfig"]),
    ("apiVersion: v2\nkind: HolderConfig\n", ["1:13", '"v2"']),
    ("apiVersion: karpenter-node-holder.io/v1\nkind: Pod\n", ["2:7"]),
    ("- a\n", ["1:1", "mapping"]),
    ("\x00", ["1:1"]),
])
def test_bad_heads(run, config, head, words):
    refused(run("check", "--config", config("", head=head)), "config.yaml",
            *words)


LATER = [
    ("webhook", "clientCAFile", "/ca.crt", '""'),
    ("webhook", "allowedClients", "[a]", "[]"),
]


@pytest.mark.parametrize("key, inner, value, off", LATER,
                         ids=[k + (i or "") for k, i, _, _ in LATER])
def test_not_in_this_version(run, config, key, inner, value, off):
    """Only the off value is accepted. Any other is refused, with its place."""
    def file(value):
        return config(f"{key}: {{{inner}: {value}}}\n" if inner
                      else f"{key}: {value}\n")
    for command in ("check", "serve"):
        refused(run(command, "--config", file(value)), "config.yaml:3:",
                "not in this version", off)
    assert run("check", "--config", file(off)).code == 0


@pytest.mark.parametrize("flag, value, off", [
    ("webhook-client-ca-file", "f", ""),
])
def test_flags_not_in_this_version(run, flag, value, off):
    refused(run("check", "--" + flag, value), "--" + flag,
            "not in this version")
    assert run("check", "--" + flag, off).code == 0
    assert run("check", f"--{flag}={off}").code == 0


@pytest.mark.parametrize("args, env, words", [
    (["--config", "none"], {}, ["none", "No such file"]),
    (["--config", "."], {}, ["directory"]),
    (["--config", ""], {}, ["--config"]),
    (["--hold-duration", "ten"], {}, ["--hold-duration", '"ten"', "10m"]),
    (["--hold-duration="], {}, ["--hold-duration", '""']),
    (["--scope", "all"], {}, ["--scope", "cluster|nodepool|node"]),
    (["--metrics-address", ":9443"], {}, ["metrics.address"]),
    ([], {"HOLD_DURATION": "ten"}, ["HOLD_DURATION", '"ten"']),
    ([], {"HOLD_DURATION": "0"}, ["HOLD_DURATION", "above 0"]),
    ([], {"HOLD_ANNOTATION": "a b"}, ["HOLD_ANNOTATION", '"a b"']),
    (["--hold-duration", "1m"], {"HOLD_DURATION": "ten"}, ["HOLD_DURATION"]),
])
def test_bad_flags_and_environment(run, args, env, words):
    for command in ("check", "serve"):
        refused(run(command, *args, **env), *words)


def test_config_from_a_pipe(run, tmp_path):
    """A shell's `<(...)` is a pipe.  A pipe that nobody writes to is an empty
    file."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    refused(run("check", "--config", pipe), "pipe")
    read, write = os.pipe()
    os.write(write, (HEAD + "holdDuration: 7m\n").encode())
    os.close(write)
    done = run("check", "--config", f"/dev/fd/{read}", pass_fds=[read])
    os.close(read)
    assert done.config()["holdDuration"] == "7m"


def test_a_file_that_is_too_large(run, config):
    refused(run("check", "--config", config("# " + "x" * (1 << 20))),
            "config.yaml")


def test_stdout_that_is_full(tmp_path):
    """The command does not succeed if it could not print."""
    for program, *args in (
            [HOLDER, "check"], [HOLDER, "version"], [HOLDER, "--help"],
            [HOLDER, "certs", "--help"], [HOLDERCTL, "check", "--help"],
            [HOLDERCTL, "hold", "--help"]):
        with open("/dev/full", "wb") as full:
            done = subprocess.run(
                [program, *args], stdout=full, stderr=subprocess.PIPE,
                stdin=subprocess.DEVNULL, cwd=tmp_path,
                env=environment(tmp_path), timeout=PATIENCE)
        assert done.returncode == 1, args
        assert b"stdout" in done.stderr


# --- serve: what keeps it from starting ------------------------------------

def free_port():
    with socket.create_server(("127.0.0.1", 0)) as s:
        return s.getsockname()[1]


@pytest.mark.parametrize("args, env, words", [
    (["--kubeconfig", "none"], {}, ["none", "No such file"]),
    ([], {"KUBECONFIG": "none"}, ["none", "No such file"]),
    ([], {"KUBECONFIG": "a:b"}, ["KUBECONFIG", "not in this version"]),
    ([], {}, ["no cluster", "--kubeconfig"]),
])
def test_serve_without_a_cluster(run, args, env, words):
    port = free_port()
    refused(run("serve", "--webhook-address", f"127.0.0.1:{port}", *args,
                **env), *words)


def test_serve_in_a_pod_without_an_account(run):
    done = run("serve", KUBERNETES_SERVICE_HOST="127.0.0.1",
               KUBERNETES_SERVICE_PORT="1")
    assert done.code in (1, 2) and done.out == ""
    line, = done.err.splitlines()
    assert line.startswith(NAME) and "serviceaccount" in line


def kubeconfig(path, cluster="server: http://127.0.0.1:1", user="{}",
               current="c"):
    path.write_text(
        f"""apiVersion: v1
kind: Config
current-context: {current}
clusters:
- name: c
  cluster:
    {cluster}
users:
- name: u
  user: {user}
contexts:
- name: c
  context: {{cluster: c, user: u}}
""")
    return path.name


@pytest.mark.parametrize("change, args, words", [
    ({"cluster": "server: ftp://x"}, [], ["7:", "server"]),
    ({"cluster": "certificate-authority: x"}, [], ["server"]),
    ({"cluster": "{server: 'https://x', certificate-authority-data: '?'}"},
     [], ["certificate-authority-data", "base64"]),
    ({"current": "d"}, [], ["d", "not there"]),
    ({}, ["--context", "d"], ["d", "not there"]),
    ({"user": "{exec: {command: aws}}"}, [],
     ["10:", "apiVersion: missing"]),
    ({"user": "{username: a, password: b}"}, [],
     ["username", "not in this version"]),
    ({"user": "{token: [a]}"}, [], ["10:", "token"]),
])
def test_a_bad_kubeconfig(run, tmp_path, change, args, words):
    file = kubeconfig(tmp_path / "kubeconfig", **change)
    for command in ("check", "serve"):
        refused(run(command, "--kubeconfig", file, *args), "kubeconfig",
                *words)


PLUGIN = ("{exec: {apiVersion: client.authentication.k8s.io/v1beta1, command: %s, "
          "%s}}")


def test_a_plugin_that_is_missing(holderctl, tmp_path):
    """The message says who asks for it."""
    file = kubeconfig(tmp_path / "kubeconfig", user=PLUGIN % (
        "no-such-plugin", "installHint: Install it."))
    done = holderctl("uninstall", "--kubeconfig", file)
    assert done.code in (1, 2) and done.out == ""
    for word in (f"{file}:10:16: user ", "exec no-such-plugin: not found",
                 "Install it."):
        assert word in done.err, (word, done.err)


def test_a_plugin_that_fails(holderctl, tmp_path):
    file = kubeconfig(tmp_path / "kubeconfig",
                      user=PLUGIN % ("ls", "args: [/no-such-file]"))
    done = holderctl("uninstall", "--kubeconfig", file)
    assert done.code in (1, 2) and done.out == ""
    for word in (f"{file}:10:16: user ", "exec ls: exit code 2",
                 "/no-such-file"):
        assert word in done.err, (word, done.err)


@pytest.mark.parametrize("command", [
    ("serve", "--leader-election-namespace", "holder"), ("check",),
    ("certs", "--renew", "--leader-election-namespace", "holder")])
def test_no_plugin_in_the_pod(run, tmp_path, command):
    """The program of the pod starts none, and says what to use instead."""
    (tmp_path / "plugin").write_text("#!/bin/sh\n: > ran\n")
    (tmp_path / "plugin").chmod(0o755)
    file = kubeconfig(tmp_path / "kubeconfig",
                      user=PLUGIN % ("./plugin", "args: []"))
    refused(run(*command, "--kubeconfig", file), f"{file}:10:16: user ",
            "plugin: karpenter-node-holder runs no credential plugin",
            "expected in its place token, tokenFile or a client certificate")
    assert not (tmp_path / "ran").exists()
    # As for kubectl, a token comes first.
    file = kubeconfig(tmp_path / "kubeconfig", user=PLUGIN.replace(
        "{exec", "{token: t, exec") % ("./plugin", "args: []"))
    assert run("check", "--kubeconfig", file).code == 0


def test_serve_without_a_namespace_for_the_lease(run, tmp_path):
    file = kubeconfig(tmp_path / "kubeconfig")
    refused(run("serve", "--kubeconfig", file), "leaderElection.namespace",
            "expected a namespace")


def test_serve_with_an_address_in_use(run, tmp_path):
    """The input is not wrong, so the exit code is 1, and the log names the
    address."""
    file = kubeconfig(tmp_path / "kubeconfig")
    with socket.create_server(("127.0.0.1", 0)) as taken:
        used = f"127.0.0.1:{taken.getsockname()[1]}"
        for flag, other in (("webhook", "metrics"), ("metrics", "webhook")):
            done = run("serve", "--kubeconfig", file,
                       "--leader-election-namespace", "holder",
                       f"--{flag}-address", used,
                       f"--{other}-address", "127.0.0.1:0")
            assert (done.code, done.out) == (1, "")
            assert f"{flag}.address {used}" in done.err
            assert "cannot start" in done.err


def test_serve_without_a_reader_of_stderr(tmp_path):
    """No line of the log ends the process, the first one included."""
    file = kubeconfig(tmp_path / "kubeconfig")
    reader, writer = os.pipe()
    os.close(reader)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        code = subprocess.run(
            [HOLDER, "serve", "--kubeconfig", file,
             "--leader-election-namespace", "holder", "--metrics-address",
             f"127.0.0.1:{taken.getsockname()[1]}",
             "--webhook-address", "127.0.0.1:0"],
            cwd=tmp_path, timeout=PATIENCE,
            env={**environment(tmp_path), "INITIAL_DELAY": "1"},
            stdin=subprocess.DEVNULL, stderr=writer).returncode
    os.close(writer)
    assert code == 1


@pytest.mark.skipif(b"__asan_init" in HOLDER.read_bytes()
                    or b"__tsan_init" in HOLDER.read_bytes(),
                    reason="a sanitizer's shadow needs address space")
def test_serve_without_memory(tmp_path):
    """Memory runs out at every step of the start: the process ends, and never
    hangs."""
    file = kubeconfig(tmp_path / "kubeconfig")
    codes = set()
    with socket.create_server(("127.0.0.1", 0)) as taken:
        used = f"127.0.0.1:{taken.getsockname()[1]}"
        for mb in range(60, 360, 30):
            done = Done(subprocess.run(
                ["prlimit", f"--as={mb << 20}", HOLDER, "serve",
                 "--kubeconfig", file, "--leader-election-namespace", "x",
                 "--webhook-address", "127.0.0.1:0",
                 "--metrics-address", used], cwd=tmp_path, text=True,
                env=environment(tmp_path), timeout=PATIENCE,
                stdin=subprocess.DEVNULL, capture_output=True))
            codes.add(done.code)
            assert done.code in (1, 2, 127), done.err
    assert 1 in codes


# --- certs -----------------------------------------------------------------

FILES = {"ca.key": 0o600, "ca.crt": 0o644, "tls.key": 0o600, "tls.crt": 0o644}


def modes(folder):
    return {p.name: stat.S_IMODE(p.stat().st_mode)
            for p in folder.iterdir()}


@pytest.mark.parametrize("umask", [0o000, 0o077])
def test_certs(run, tmp_path, umask):
    before = os.umask(umask)
    try:
        done = run("certs", "--out", "d")
    finally:
        os.umask(before)
    assert (done.code, done.err) == (0, "")
    assert "d/tls.crt" in done.out and "valid until" in done.out
    assert modes(tmp_path / "d") == FILES
    assert stat.S_IMODE((tmp_path / "d").stat().st_mode) == 0o700
    assert not [f for f in (tmp_path / "d").iterdir()
                if "PRIVATE KEY" in f.read_text() and f.suffix != ".key"]


def test_certs_into_a_folder_that_a_terminal_would_obey(run):
    done = run("certs", "--out", "d\x1b[31m\x9b\u202e")
    assert done.code == 0 and done.out.count("d?[31m??/") == 3
    assert not set(done.out) & set("\x1b\x9b\u202e")


def inspect(run, folder="d", cert="tls.crt", key="tls.key"):
    return run("certs", "--inspect", "--cert", f"{folder}/{cert}",
               "--key", f"{folder}/{key}")


def test_inspect(run):
    assert run("certs", "--out", "d", "--dns", "a.example,*.b.example",
               "--ip", "127.0.0.1", "--ip", "::1", "--days", "3").code == 0
    done = inspect(run)
    assert (done.code, done.err) == (0, "")
    for name in ("DNS:a.example", "DNS:*.b.example", "IP:127.0.0.1", "IP:"):
        assert name in done.out
    until = re.search(r"to (\d{4}-\d\d-\d\dT[\d:]{8})Z", done.out).group(1)
    left = datetime.datetime.fromisoformat(until) - \
        datetime.datetime.utcnow()
    assert datetime.timedelta(days=2, hours=20) < left < \
        datetime.timedelta(days=3, hours=1)
    # Our CA must not be served.  The command says so and exits with 1, not
    # with 2.
    done = inspect(run, cert="ca.crt", key="ca.key")
    assert done.code == 1 and done.out
    line, = done.err.splitlines()
    assert line.startswith(NAME) and "digitalSignature" in line
    done = inspect(run, key="ca.key")
    assert done.code == 1 and len(done.err.splitlines()) == 1


@pytest.mark.parametrize("flags, warned", [
    ([], True), (["-addext", "basicConstraints=critical,CA:FALSE"], False)])
def test_the_commonest_pair(run, tmp_path, flags, warned):
    """The pair that openssl makes by default is a CA.  It is good, with a
    warning that names the flag to make it without; that flag works."""
    made = tmp_path / "d"
    made.mkdir()
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days",
         "2", "-subj", "/CN=a.example", "-addext",
         "subjectAltName=DNS:a.example", *flags, "-keyout", made / "tls.key",
         "-out", made / "tls.crt"],
        stdin=subprocess.DEVNULL, capture_output=True, check=True)
    advice = "-addext basicConstraints=critical,CA:FALSE"
    done = inspect(run)
    assert (done.code, done.err) == (0, "")
    assert "good for:  serving these names" in done.out
    assert (advice in done.out) == warned
    done = run("check", "--webhook-cert-file", "d/tls.crt",
               "--webhook-key-file", "d/tls.key")
    assert done.code == 0 and "certificate: DNS:a.example" in done.err
    assert (advice in done.err) == warned


def test_a_pair_is_verified_by_openssl(run, tmp_path):
    """A tool that is not ours accepts its chain, name and purpose."""
    assert run("certs", "--out", "d", "--dns", "a.example").code == 0
    subprocess.run(
        ["openssl", "verify", "-x509_strict", "-CAfile", "d/ca.crt",
         "-purpose", "sslserver", "-verify_hostname", "a.example",
         "d/tls.crt"],
        cwd=tmp_path, check=True, capture_output=True,
        stdin=subprocess.DEVNULL)


def test_a_ca_is_used_again(run, tmp_path):
    def read(name):
        return (tmp_path / "d" / name).read_bytes()
    assert run("certs", "--out", "d").code == 0
    ca, leaf = read("ca.crt"), read("tls.crt")
    assert run("certs", "--out", "d").code == 0
    assert read("ca.crt") == ca and read("tls.crt") != leaf
    assert run("certs", "--out", "d", "--new-ca").code == 0
    assert read("ca.crt") != ca
    assert modes(tmp_path / "d") == FILES
    (tmp_path / "d" / "ca.key").unlink()
    leaf = read("tls.crt")
    refused(run("certs", "--out", "d"), "ca.crt without ca.key", "--new-ca")
    assert read("tls.crt") == leaf


@pytest.mark.parametrize("args, words", [
    (["--days", "0"], ["--days", "1 to 3650"]),
    (["--days", "3651"], ["--days", "1 to 3650"]),
    (["--days", "ten"], ["--days", '"ten"']),
    (["--days", "1.5"], ["--days"]),
    (["--dns", "a b"], ["a b"]),
    (["--dns", "a,,b"], ["expected"]),
    (["--dns", ""], ["expected"]),
    (["--ip", "localhost"], ["localhost"]),
    (["--ip", "1.2.3"], ["1.2.3"]),
    (["--dns", ",".join("abcdefghijklmnopq")], ["--dns", "at most 16"]),
    (["--cert", "x"], ["--inspect"]),
])
def test_certs_refuses(run, tmp_path, args, words):
    """The command refuses, and writes nothing."""
    refused(run("certs", "--out", "d", *args), *words)
    assert not (tmp_path / "d").exists()


@pytest.mark.parametrize("args", [
    [], ["--cert", "x"], ["--key", "x"],
    ["--cert", "x", "--key", "x", "--out", "d"],
    ["--cert", "x", "--key", "x", "--new-ca"],
    ["--cert", "x", "--key", "x", "--dns", "a"],
])
def test_inspect_refuses(run, args):
    refused(run("certs", "--inspect", *args), "--inspect", "--cert")


def test_inspect_without_files(run, tmp_path):
    refused(inspect(run), "d/tls.crt", "No such file")
    assert run("certs", "--out", "d").code == 0
    (tmp_path / "d" / "tls.key").unlink()
    done = inspect(run)
    assert done.code in (1, 2)
    line, = done.err.splitlines()
    assert "d/tls.key" in line


def test_certs_into_a_place_that_is_none(run, tmp_path):
    (tmp_path / "file").write_text("")
    for out in ("file", "none/d", "/proc/none"):
        done = run("certs", "--out", out)
        assert done.code in (1, 2) and done.out == ""
        line, = done.err.splitlines()
        assert line.startswith(NAME) and out in line


# What the process starts with, and what it keeps to itself

ENCRYPTED = """-----BEGIN CERTIFICATE-----
Proc-Type: 4,ENCRYPTED
DEK-Info: AES-256-CBC,00112233445566778899AABBCCDDEEFF

"""


@pytest.mark.parametrize("file", ["tls.crt", "tls.key"])
def test_a_pem_never_asks_for_a_passphrase(run, tmp_path, file):
    """On a terminal OpenSSL would ask, and wait."""
    assert run("certs", "--out", "d").code == 0
    path = tmp_path / "d" / file
    if file == "tls.crt":
        path.write_text(path.read_text().replace(
            ENCRYPTED.splitlines()[0] + "\n", ENCRYPTED))
    else:
        subprocess.run(["openssl", "pkey", "-aes256", "-passout", "pass:abcd",
                        "-in", path, "-out", tmp_path / "k"], check=True,
                       capture_output=True)
        (tmp_path / "k").replace(path)
    ours, theirs = pty.openpty()
    try:
        done = subprocess.run(
            ["setsid", "--ctty", "--wait", HOLDER, "certs", "--inspect",
             "--cert", "d/tls.crt", "--key", "d/tls.key"], cwd=tmp_path,
            env=environment(tmp_path), stdin=theirs, capture_output=True,
            text=True, timeout=20)
        assert done.returncode != 0
        said = "passphrase" if file == "tls.key" else "cut or damaged"
        assert said in done.stderr, done.stderr
        os.set_blocking(ours, False)
        with pytest.raises(BlockingIOError):
            os.read(ours, 100)      # nobody was asked
    finally:
        os.close(ours)
        os.close(theirs)


@pytest.fixture
def running(tmp_path):
    """A `serve` that everybody may run, as the API server is away."""
    processes = []

    def start(**options):
        with tempfile.TemporaryDirectory() as folder:
            os.chmod(folder, 0o755)
            # The tree may be in a folder that only its owner enters.
            program = shutil.copy(HOLDER, folder)
            kubeconfig = pathlib.Path(folder, "kubeconfig")
            kubeconfig.write_text(json.dumps({
                "apiVersion": "v1", "kind": "Config", "current-context": "c",
                "clusters": [{"name": "c", "cluster": {
                    "server": "http://127.0.0.1:1"}}],
                "users": [{"name": "c", "user": {}}],
                "contexts": [{"name": "c", "context": {
                    "cluster": "c", "user": "c"}}]}))
            with socket.create_server(("127.0.0.1", 0)) as s:
                port = s.getsockname()[1]
            p = spawn(
                [program, "serve", "--kubeconfig", kubeconfig,
                 "--leader-election-enabled=false", "--webhook-address",
                 "127.0.0.1:0", "--metrics-address", f"127.0.0.1:{port}",
                 "--webhook-cert-file", "/none", "--webhook-key-file",
                 "/none"], env=environment(tmp_path), **options)
            processes.append(p)
            for _ in range(200):
                with contextlib.suppress(OSError), socket.create_connection(
                        ("127.0.0.1", port), 1):
                    return p
                assert p.poll() is None
                time.sleep(0.1)
            pytest.fail("it does not start")
    yield start
    for p in processes:
        p.kill()
        p.wait()


def closed(*fds):
    def close():
        for fd in fds:
            os.close(fd)
    return close


@pytest.mark.skipif(os.geteuid() != 0, reason="/proc/PID/fd is root's")
@pytest.mark.parametrize("fds", [(0,), (1,), (2,), (0, 1, 2)], ids=str)
def test_descriptors_that_are_closed(running, fds):
    """No file and no connection gets the number of one of them."""
    p = running(stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL, preexec_fn=closed(*fds))
    for fd in fds:
        assert os.readlink(f"/proc/{p.pid}/fd/{fd}") == "/dev/null"


def test_a_closed_stdout_is_still_an_error(tmp_path):
    done = subprocess.run([HOLDER, "version"], env=environment(tmp_path),
                          stderr=subprocess.PIPE, preexec_fn=closed(1),
                          text=True)
    assert done.returncode == 1 and "stdout: Bad file" in done.stderr


@pytest.mark.skipif(b"__asan_init" in HOLDER.read_bytes(),
                    reason="the leak sanitizer has to read the memory")
def test_nobody_else_may_read_its_memory(running):
    """The kernel gives such a process's files in /proc to root."""
    p = running(stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                **({"user": 65534} if os.geteuid() == 0 else {}))
    status = pathlib.Path(f"/proc/{p.pid}/status").read_text()
    assert int(re.search(r"^Uid:\t(\d+)", status, re.M)[1]) != 0
    assert os.stat(f"/proc/{p.pid}/mem").st_uid == 0
