# SPDX-License-Identifier: Apache-2.0
"""A useless kubeconfig is refused in one line, and nothing starts."""
import pytest

from test_commands import refused, run  # noqa: F401  (a fixture)

HEAD = "apiVersion: v1\nkind: Config\n"
CHOSEN = HEAD + "current-context: c\n"
REST = """users:
- name: u
  user: {}
contexts:
- name: c
  context: {cluster: c, user: u}
"""
NAMED = CHOSEN + """clusters:
- name: c
  cluster:
    server: https://127.0.0.1:1
"""


def user(text):
    return NAMED + REST.replace("{}", text, 1)


def cluster(text):
    return NAMED + f"    {text}\n" + REST


# Cases that test_commands lacks: the text, the place of the fault, and what
# was expected.
KUBECONFIGS = {
    "nothing": ("", "1:1", "nothing in it, expected a mapping"),
    "a comment": ("# none\n", "1:1", "expected a mapping"),
    "a word": ("config", "1:1", "expected a kubeconfig"),
    "a list": ("- a\n", "1:1", "expected a kubeconfig"),
    "a tab": ("\tkind: Config\n", "1:1", "expected YAML"),
    "no end": ("kind: [Config\n", "2:1", "expected YAML"),
    "no UTF-8": ("kind: \udcff\n", "1:7", "expected YAML"),
    "a NUL": ('kind: "\\0"\n', "1:7", "a NUL byte, expected text"),
    "a second document": (NAMED + REST + "---\nkind: Config\n", "14:1",
                          "a second document, expected one"),
    "an anchor": ("kind: &a Config\n", "1:7", "an anchor (&), expected"),
    "a tag": ("kind: !!str Config\n", "1:7", "a tag (!), expected"),
    "a key twice": (HEAD + "kind: Config\n", "3:1",
                    '"kind" stands twice, expected it once'),
    "another kind": ("kind: Pod\n", "1:7", "kind: expected Config"),
    "deep": ("[" * 99, "1:65", "nested too deeply"),
    "no context": (HEAD, "1:1", "current-context: missing, expected"),
    "contexts: mapping": (CHOSEN + "contexts: {}\n", "4:11",
                          "contexts: expected a list"),
    "contexts: null": (CHOSEN + "contexts:\n", "3:18",
                       '"c" is not there, expected one'),
    "no name": (CHOSEN + "contexts: [{}]\n", "4:12",
                "an entry without a name, expected one"),
    "no cluster": (CHOSEN + "contexts: [{name: c, context: {}}]\n", "4:31",
                   "cluster: missing, expected a name"),
    "a cluster of none": (CHOSEN + "clusters: []\n" + REST, "10:22",
                          'cluster "c" is not there, expected one'),
    "a user of none": (NAMED + REST.replace("name: u", "name: v"), "13:31",
                       'user "u" is not there, expected one of "v"'),
    "a server with a path of spaces": (
        NAMED.replace("127.0.0.1:1", "127.0.0.1:1/a b") + REST, "7:13",
        "expected a URL such as https://host:6443"),
    "a server with a query": (NAMED.replace(":1\n", ":1/?a\n") + REST,
                              "7:13", "expected a URL"),
    "insecure: yes": (cluster("insecure-skip-tls-verify: yes"), "8:31",
                      "expected true or false"),
    "insecure, with a CA": (
        cluster("{}\n    {}".format("insecure-skip-tls-verify: true",
                                    "certificate-authority: ca.crt")),
        "8:5", "expected one of the two"),
    "a proxy": (cluster("proxy-url: http://127.0.0.1:1"), "8:5",
                "proxy-url is not in this version, expected a server"),
    "a CA that is no PEM": (cluster("certificate-authority-data: YQ=="),
                            "8:33", "no PEM in it, expected base64 of PEM"),
    "a CA that is a mapping": (cluster("certificate-authority: {}"), "8:28",
                               "expected a string"),
    "a certificate alone": (user("{client-certificate: c}"), "10:9",
                            "without client-key, expected both"),
    "a key alone": (user("{client-key: k}"), "10:9",
                    "without client-certificate, expected both"),
    "a key that is no base64": (user("{client-key-data: '*'}"), "10:27",
                                "not base64, expected base64 of PEM"),
    "a token of a number": (user("{token: 7}"), "10:17",
                            "expected a string, put quotes around it"),
    "a token with a space": (user("{token: a b}"), "10:17",
                             "expected printable ASCII without spaces"),
    "a token of lines": (user('{token: "a\\nb"}'), "10:17",
                         "expected a string on one line"),
    "a password": (user("{username: a, password: b}"), "10:10",
                   "username is not in this version, expected a client"),
    "another's name": (user("{token: t, as: root}"), "10:20",
                       "as is not in this version, expected a client"),
    "a plugin of old": (user("{auth-provider: {name: gcp}}"), "10:10",
                        "auth-provider is not in this version, expected"),
}


@pytest.mark.parametrize("name", KUBECONFIGS)
def test_a_kubeconfig_of_no_use(run, tmp_path, name):
    """The line names the file, the place in it, what is wrong and what was
    expected.  Nothing starts."""
    text, place, words = KUBECONFIGS[name]
    (tmp_path / "kube").write_bytes(text.encode("utf-8", "surrogateescape"))
    for command in ("check", "serve"):
        refused(run(command, "--kubeconfig", "kube"), f"kube:{place}: ",
                words)
    refused(run("serve", KUBECONFIG="kube"), f"kube:{place}: ", words)


@pytest.mark.parametrize("make, words", [
    (lambda f: f.mkdir(), "Is a directory"),
    (lambda f: f.symlink_to("none"), "No such file"),
    (lambda f: f.write_text("#" * (1 << 20) + "#"), "over 1048576 bytes")])
def test_a_kubeconfig_that_is_no_file(run, tmp_path, make, words):
    make(tmp_path / "kube")
    for command in ("check", "serve"):
        refused(run(command, "--kubeconfig", "kube"), "kube", words)
