#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the chart's templates from what kustomize builds of deploy/.

    deploy/helm/generate.py            # writes templates/ and files/
    deploy/helm/generate.py --check    # changes nothing, says what it would

deploy/base and deploy/components are the truth.  What they say is taken as it
is; COMPONENTS says which value switches a component on, PLACES where a value
stands in for what is written there, EXTRAS what may be added.  What belongs to
a component inside an object of base (an annotation, a port) is found by
comparison.  A place that is no more, or a change that cannot be written as an
`if`, is an error.

Needs kubectl: $KUBECTL, build/bin/kubectl or that of PATH.
"""
import copy
import difflib
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

import yaml

CHART = pathlib.Path(__file__).resolve().parent
DEPLOY = CHART.parent
NAME = "karpenter-node-holder"
HEADER = ("{{/* SPDX-License-Identifier: Apache-2.0\n"
          "Written by deploy/helm/generate.py from deploy/%s: "
          "change that, not this. */ -}}\n")
# deploy/namespace puts it wherever the namespace belongs
NAMESPACE = "release-namespace"

# component -> when it is in
COMPONENTS = {
    "cert-manager": 'eq .Values.tls.mode "certManager"',
    "high-availability": ".Values.highAvailability.enabled",
    "least-privilege": ".Values.leastPrivilege.enabled",
    "network-policy": ".Values.networkPolicy.enabled",
    "prometheus": ".Values.prometheus.enabled",
    "self-signed": 'eq .Values.tls.mode "selfSigned"',
}

# takes away what the others add, and has to be edited by whoever uses it
NO_COMPONENT = {"admission-policy"}

# kind -> template; Helm makes the namespace, and the configuration is written
# by hand (templates/config.yaml): it is made of values
FILES = {
    "ServiceAccount": "serviceaccount.yaml",
    "ClusterRole": "rbac.yaml", "ClusterRoleBinding": "rbac.yaml",
    "Role": "rbac.yaml", "RoleBinding": "rbac.yaml",
    "Deployment": "deployment.yaml", "Service": "service.yaml",
    "MutatingWebhookConfiguration": "webhook.yaml",
}
NOT_HERE = {"Namespace", "ConfigMap"}

POD = "spec.template.spec"
HOLDER = POD + ".containers.holder"
# (kind, name, place, what stands there): in it N is the indentation of what
# is one level below.  A step into a list is the name of an item, or a number.
PLACES = [
    ("Deployment", NAME, "spec.replicas", "{{ .Values.replicas }}"),
    ("Deployment", NAME, HOLDER + ".image",
     '{{ include "karpenter-node-holder.image" . | quote }}'),
    ("Deployment", NAME, HOLDER + ".resources",
     "{{- toYaml .Values.resources | nindent N }}"),
    ("Deployment", NAME, POD + ".priorityClassName",
     "{{ .Values.priorityClassName | quote }}"),
    # no hash in it: the Pods' annotation below rolls them
    ("Deployment", NAME, POD + ".volumes.config.configMap.name",
     "karpenter-node-holder-config"),
    ("Deployment", NAME, POD + ".volumes.tls.secret.secretName",
     '{{ include "karpenter-node-holder.secret" . | quote }}'),
    ("Role", NAME, "rules.1.resourceNames.0",
     '{{ include "karpenter-node-holder.lease" . | quote }}'),
    ("ValidatingAdmissionPolicy", NAME, "spec.variables.holds.expression",
     '{{ include "karpenter-node-holder.holds" . | quote }}'),
    ("NetworkPolicy", NAME, "spec.egress.0.ports", """\
{{- range .Values.networkPolicy.apiServerPorts }}
- port: {{ . }}
  protocol: TCP
{{- end }}"""),
    ("NetworkPolicy", NAME, "spec.ingress.1.from.0.namespaceSelector."
     "matchLabels.kubernetes\\.io/metadata\\.name",
     "{{ .Values.networkPolicy.metricsNamespace | quote }}"),
]
EXTRAS = [
    ("Deployment", NAME, "spec.template.metadata.annotations", """\
checksum/config: {{ include "karpenter-node-holder.config" . | sha256sum }}
{{- with .Values.podAnnotations }}
{{- toYaml . | nindent I }}
{{- end }}"""),
    ("Deployment", NAME, POD, """\
{{- with .Values.nodeSelector }}
nodeSelector: {{- toYaml . | nindent N }}
{{- end }}
{{- with .Values.imagePullSecrets }}
imagePullSecrets: {{- toYaml . | nindent N }}
{{- end }}"""),
    ("Deployment", NAME, POD + ".affinity", """\
{{- with omit (.Values.affinity | default dict) "nodeAffinity" }}
{{- toYaml . | nindent I }}
{{- end }}"""),
    ("Deployment", NAME, POD + ".affinity.nodeAffinity", """\
{{- with (.Values.affinity).nodeAffinity }}
{{- toYaml . | nindent I }}
{{- end }}"""),
    ("Deployment", NAME, POD + ".tolerations", """\
{{- with .Values.tolerations }}
{{- toYaml . | nindent I }}
{{- end }}"""),
    ("Deployment", NAME, HOLDER, """\
{{- with (include "karpenter-node-holder.pullPolicy" .) }}
imagePullPolicy: {{ . }}
{{- end }}"""),
    ("MutatingWebhookConfiguration", NAME, "webhooks.0.clientConfig", """\
{{- with (include "karpenter-node-holder.caBundle" .) }}
caBundle: {{ . }}
{{- end }}"""),
    ("ServiceMonitor", NAME, "metadata.labels", """\
{{- with .Values.prometheus.labels }}
{{- toYaml . | nindent I }}
{{- end }}"""),
    ("PrometheusRule", NAME, "metadata.labels", """\
{{- with .Values.prometheus.labels }}
{{- toYaml . | nindent I }}
{{- end }}"""),
]

APP = "app.kubernetes.io/"
OURS = {APP + k for k in ("name", "instance", "version", "part-of",
                          "managed-by")}
FIRST = ("apiVersion", "kind", "metadata", "name", "namespace", "labels",
         "image", "alert", "expr", "for")


class Fault(Exception):
    pass


# What kustomize builds

def kubectl():
    for candidate in (os.environ.get("KUBECTL"),
                      DEPLOY.parent / "build" / "bin" / "kubectl",
                      shutil.which("kubectl")):
        if candidate and os.access(candidate, os.X_OK):
            return str(candidate)
    raise Fault("no kubectl: tests/e2e/binaries.sh kubectl builds one")


def identity(o):
    return o["kind"], o["metadata"].get("namespace"), o["metadata"]["name"]


def build(*components):
    """-> {identity: object}"""
    with tempfile.TemporaryDirectory() as folder:
        def beside(path):
            return os.path.relpath(DEPLOY / path, os.path.realpath(folder))
        pathlib.Path(folder, "kustomization.yaml").write_text(yaml.safe_dump({
            "apiVersion": "kustomize.config.k8s.io/v1beta1",
            "kind": "Kustomization", "namespace": NAMESPACE,
            "resources": [beside("base")],
            "components": [beside(f"components/{c}") for c in components],
            "transformers": [beside("namespace")]}))
        done = subprocess.run([kubectl(), "kustomize", folder], text=True,
                              capture_output=True, stdin=subprocess.DEVNULL)
    if done.returncode:
        raise Fault(done.stderr.strip())
    return {identity(o): o for o in yaml.safe_load_all(done.stdout) if o}


# Marks in the tree: they become lines of template when it is written

class Marks:
    form = re.compile(r"^( *)(?:([^\n]*?): |(- ))?MARK(\d+)(?:: null)?$",
                      re.M)

    def __init__(self):
        self.texts = []

    def new(self, text):
        self.texts.append(text)
        return f"MARK{len(self.texts) - 1}"

    def fill(self, dump):
        def lines(match):
            indent, key, item, number = match.groups()
            text = self.texts[int(number)]
            own = len(indent)
            if key is not None:     # the value of a key, or of an item's key
                own += 2 * key.startswith("- ")
                return f"{indent}{key}: " + self.at(text, own)
            if item and text.startswith("{{ "):     # one item of a list
                return f"{indent}- {text}"
            return "\n".join(indent + line
                             for line in self.at(text, own).split("\n"))
        return self.form.sub(lines, dump)

    @staticmethod
    def at(text, indent):
        text = re.sub(r"\bnindent I\b", f"nindent {indent}", text)
        return re.sub(r"\bnindent N\b", f"nindent {indent + 2}", text)


def step(tree, key):
    """-> (container, key) of one step of a place."""
    if isinstance(tree, dict):
        return tree, key
    if key.isdigit():
        return tree, int(key)
    found = [i for i, item in enumerate(tree)
             if isinstance(item, dict) and item.get("name") == key]
    if len(found) != 1:
        raise Fault(f"no single item named {key}")
    return tree, found[0]


def place(tree, path):
    *way, last = [p.replace("\0", ".") for p in
                  path.replace("\\.", "\0").split(".")]
    for key in way:
        tree, key = step(tree, key)
        tree = tree[key]
    return step(tree, last)


class Chart:
    def __init__(self):
        self.marks = Marks()
        self.used = set()

    # what a component does inside an object of base

    def conditional(self, component):
        return (self.marks.new("{{- if %s }}" % COMPONENTS[component]),
                self.marks.new("{{- end }}"))

    def weave(self, tree, was, now, component, where):
        """Into tree, which began as was: what now has more, in an `if`.

        In each list what is of base comes first, so that places stay.
        """
        if isinstance(was, dict) and isinstance(now, dict) and \
                was.keys() <= now.keys():
            for k, v in was.items():
                tree[k] = self.weave(tree[k], v, now[k], component,
                                     f"{where}.{k}")
            more = {k: v for k, v in now.items() if k not in was}
            if more.keys() & tree.keys():
                raise Fault(f"components/{component} is the second to add to "
                            f"{where}: {sorted(more.keys() & tree.keys())}")
            if more:
                begin, end = self.conditional(component)
                tree.update({begin: None, **more, end: None})
        elif isinstance(was, list) and isinstance(now, list) and \
                len(was) <= len(now):
            for i, (a, b) in enumerate(zip(was, now)):
                tree[i] = self.weave(tree[i], a, b, component, f"{where}.{i}")
            if len(was) < len(now):
                begin, end = self.conditional(component)
                tree += [begin, *now[len(was):], end]
        elif was != now and where not in self.replaced:
            raise Fault(f"components/{component} changes {where}: "
                        "only additions, and what is in PLACES, can be "
                        "switched by a value")
        return tree

    # values

    def of(self, table, o):
        """-> (container, key, mark) of each place that is in this object"""
        for entry in table:
            kind, name, path, text = entry
            if (kind, name) != (o["kind"], o["metadata"]["name"]):
                continue
            try:
                tree, key = place(o, path)
                tree[key]
            except (KeyError, IndexError, Fault) as e:
                raise Fault(f"{kind} {name} has no {path}: {e}") from None
            self.used.add(entry)
            yield tree, key, self.marks.new(text)

    def values(self, o):
        for tree, key, mark in self.of(PLACES, o):
            tree[key] = [mark] if isinstance(tree[key], list) else mark
        for tree, key, mark in self.of(EXTRAS, o):
            if isinstance(tree[key], list):
                tree[key].append(mark)
            else:
                tree[key][mark] = None
        return o

    def labelled(self, metadata, which):
        labels = metadata["labels"]
        metadata["labels"] = {
            self.marks.new('{{- include "karpenter-node-holder.%s" . | '
                           'nindent I }}' % which): None,
            **{k: v for k, v in labels.items() if k not in OURS}}

    # text

    def text(self, o):
        self.labelled(o["metadata"], "labels")
        if o["kind"] == "Deployment":
            self.labelled(o["spec"]["template"]["metadata"], "podLabels")
        dump = yaml.dump(ordered(self.values(o)), Dumper=Dumper,
                         sort_keys=False, width=1 << 20, allow_unicode=True)
        dump = self.marks.fill(dump.replace("{{", '{{ "{{" }}'))
        dump = re.sub(rf": {NAMESPACE}$", ": {{ .Release.Namespace | quote }}",
                      dump, flags=re.M)
        return "---\n" + dump.replace(NAMESPACE, "{{ .Release.Namespace }}")

    def written(self):
        """-> {path in the chart: text}"""
        known = {p.name for p in (DEPLOY / "components").iterdir()}
        known -= NO_COMPONENT
        if known != set(COMPONENTS):
            raise Fault("COMPONENTS is not what is in deploy/components: "
                        f"{sorted(known ^ set(COMPONENTS))}")
        self.replaced = {f"{kind}.{path}" for kind, _, path, _ in PLACES}
        base = build()
        trees = copy.deepcopy(base)
        bodies = {}
        for component in COMPONENTS:
            built = build(component)
            if not base.keys() <= built.keys():
                raise Fault(f"components/{component} renames or removes "
                            f"{sorted(map(str, base.keys() - built.keys()))}")
            for key, o in built.items():
                if key in base:
                    self.weave(trees[key], base[key], o, component, o["kind"])
                else:
                    bodies.setdefault(component, []).append(self.text(o))
        out = {}
        for key, o in trees.items():
            if o["kind"] not in NOT_HERE:
                file = "templates/" + FILES[o["kind"]]
                out[file] = (out.get(file) or HEADER % "base") + self.text(o)
        for component, texts in bodies.items():
            out[f"templates/{component}.yaml"] = (
                HEADER % f"components/{component}"
                + "{{- if %s }}\n" % COMPONENTS[component]
                + "".join(texts) + "{{- end }}\n")
        config, = (o for o in base.values() if o["kind"] == "ConfigMap")
        (_, out["files/config.yaml"]), = config["data"].items()
        unused = [entry[:3] for entry in PLACES + EXTRAS
                  if entry not in self.used]
        if unused:
            raise Fault(f"places of no object: {unused}")
        return out


def ordered(tree):
    """What an object is comes first; the rest as kustomize has it."""
    if isinstance(tree, list):
        return [ordered(i) for i in tree]
    if not isinstance(tree, dict):
        return tree
    keys = [k for k in FIRST if k in tree]
    return {k: ordered(tree[k]) for k in
            keys + [k for k in tree if k not in keys]}


class Dumper(yaml.SafeDumper):
    def increase_indent(self, flow=False, indentless=False):
        return super().increase_indent(flow, False)

    def ignore_aliases(self, data):
        return True


def text_of(dumper, text):
    return dumper.represent_scalar("tag:yaml.org,2002:str", text,
                                   style="|" if "\n" in text else None)


def list_of(dumper, items):
    short = all(isinstance(i, str) and not i.startswith("MARK")
                and "\n" not in i for i in items) and len(str(items)) < 60
    return dumper.represent_sequence("tag:yaml.org,2002:seq", items,
                                     flow_style=short)


Dumper.add_representer(str, text_of)
Dumper.add_representer(list, list_of)


def generated():
    """The files here that are written by this program."""
    first = HEADER.split("%")[0]
    return {str(p.relative_to(CHART)) for p in CHART.glob("templates/*")
            if p.read_text().startswith(first)}


def main(argv):
    if argv not in ([], ["--check"]):
        print(__doc__, file=sys.stderr)
        return 2
    try:
        files = Chart().written()
    except Fault as e:
        print(f"generate.py: {e}", file=sys.stderr)
        return 1
    stale = generated() - files.keys()
    if not argv:
        for name in stale:
            (CHART / name).unlink()
        for name, text in files.items():
            (CHART / name).write_text(text)
        return 0
    for name in sorted(stale | files.keys()):
        path = CHART / name
        was = path.read_text() if path.exists() else ""
        sys.stdout.writelines(difflib.unified_diff(
            was.splitlines(True), files.get(name, "").splitlines(True),
            f"deploy/helm/{name}", "as generate.py writes it"))
        if was != files.get(name):
            argv = None
    if argv is None:
        print("generate.py: out of date: run deploy/helm/generate.py",
              file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
