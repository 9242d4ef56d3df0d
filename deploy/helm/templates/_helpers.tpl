{{/* SPDX-License-Identifier: Apache-2.0 */}}

{{/* Most names are fixed, as with kustomize, because programs, policies and people's
rights refer to them. A cluster needs only one holder. This one is of what only
people look for. */}}
{{- define "karpenter-node-holder.fullname" -}}
{{ .Values.fullnameOverride | default .Values.nameOverride | default "karpenter-node-holder" }}
{{- end }}

{{- define "karpenter-node-holder.podLabels" -}}
app.kubernetes.io/name: karpenter-node-holder
app.kubernetes.io/instance: {{ .Release.Name | quote }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/part-of: karpenter-node-holder
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- end }}

{{/* The pods do not get the label helm.sh/chart, because a new version of the
chart alone must not roll them. */}}
{{- define "karpenter-node-holder.labels" -}}
{{ include "karpenter-node-holder.podLabels" . }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- end }}

{{- define "karpenter-node-holder.image" -}}
{{- with .Values.image -}}
{{- if kindIs "string" . -}}
{{ . }}
{{- else if .digest -}}
{{ .repository }}@{{ .digest }}
{{- else -}}
{{ .repository }}:{{ .tag | default $.Chart.AppVersion }}
{{- end -}}
{{- end -}}
{{- end }}

{{/* A constraint that says nothing of pods means the holder's own. */}}
{{- define "karpenter-node-holder.spread" -}}
{{- $ours := dict "matchLabels" (dict "app.kubernetes.io/name" "karpenter-node-holder" "app.kubernetes.io/component" "controller") -}}
{{- $all := list -}}
{{- range . -}}
{{- $all = append $all (set (deepCopy .) "labelSelector" (.labelSelector | default $ours)) -}}
{{- end -}}
{{- toYaml $all -}}
{{- end }}

{{- define "karpenter-node-holder.pullPolicy" -}}
{{- if kindIs "map" .Values.image }}{{ .Values.image.pullPolicy }}{{ end -}}
{{- end }}

{{- define "karpenter-node-holder.secret" -}}
{{- if eq .Values.tls.mode "secret" -}}
{{ .Values.tls.secretName }}
{{- else -}}
karpenter-node-holder-tls
{{- end -}}
{{- end }}

{{- define "karpenter-node-holder.caBundle" -}}
{{- with .Values.tls.caBundle -}}
{{- if ne $.Values.tls.mode "secret" -}}
{{- fail "tls.caBundle goes with tls.mode secret; otherwise it is put in for you" -}}
{{- end -}}
{{- if contains "-----BEGIN" . }}{{ b64enc . }}{{ else }}{{ regexReplaceAll "\\s" . "" | quote }}{{ end -}}
{{- end -}}
{{- end }}

{{/* A bare number means minutes, as in the Go program. */}}
{{- define "karpenter-node-holder.duration" -}}
{{- $text := kindIs "float64" . | ternary (int64 . | toString) (toString .) -}}
{{ $text }}{{ if regexMatch "^[0-9]+$" $text }}m{{ end }}
{{- end }}

{{/* The HolderConfig. Values override that of deploy/base, and `config` overrides
both. */}}
{{- define "karpenter-node-holder.config" -}}
{{- $last := .Values.config | default dict -}}
{{- range $key := list "apiVersion" "kind" "webhook" "metrics" -}}
{{- if hasKey $last $key -}}
{{- fail (printf "config.%s: not for you to set: ports, files and grace period of the chart's Deployment belong to it" $key) -}}
{{- end -}}
{{- end -}}
{{- if hasKey $last "memoryLimit" -}}
{{- fail "config.memoryLimit: not for you to set: the memory limit of the container overrides it. Set resources.limits.memory" -}}
{{- end -}}
{{- if hasKey $last "tickets" -}}
{{- fail "config.tickets: not for you to set: tickets.enabled also makes the namespace and gives the right to read it" -}}
{{- end -}}
{{- if and .Values.tickets.enabled (eq .Values.tickets.namespace .Release.Namespace) -}}
{{- fail "tickets.namespace: the holder's own Lease is in the release's namespace, and would hold all NodePools" -}}
{{- end -}}
{{- if ($last.leaderElection).namespace -}}
{{- fail "config.leaderElection.namespace: not for you to set: the right to its Lease is in the release's namespace" -}}
{{- end -}}
{{- if and (eq (toString ($last.leaderElection).enabled) "false") (gt (int .Values.replicas) 1) -}}
{{- fail "config.leaderElection.enabled: false goes with replicas: 1: each would sweep" -}}
{{- end -}}
{{- range $key, $_ := $last.selfSigned -}}
{{- if not (has $key (list "caDuration" "duration")) -}}
{{- fail (printf "config.selfSigned.%s: not for you to set: tls.mode says whether, and the rights fit the names" $key) -}}
{{- end -}}
{{- end -}}
{{- $hold := .Values.holdAnnotation -}}
{{- if kindIs "string" $hold -}}
{{- $hold = dict "key" $hold "value" "true" -}}
{{- end -}}
{{- if eq (get $hold "key") "karpenter.sh/do-not-consolidate" -}}
{{- fail "holdAnnotation: Karpenter 1 and later ignores karpenter.sh/do-not-consolidate (it was the default of the Go program's chart): nothing would be held back. Leave holdAnnotation out: the default is karpenter.sh/do-not-disrupt" -}}
{{- end -}}
{{- $values := dict "scope" .Values.scope "holdAnnotation" $hold
    "nodePools" .Values.nodePools -}}
{{- range $key := list "holdDuration" "maxHoldDuration" -}}
{{- $value := get $.Values $key -}}
{{- if not (or (kindIs "invalid" $value) (eq (toString $value) "")) -}}
{{- $_ := set $values $key (include "karpenter-node-holder.duration" $value) -}}
{{- end -}}
{{- end -}}
{{- with .Values.minScaleUp -}}
{{- $_ := set $values "minScaleUp" (kindIs "string" . | ternary . (int .)) -}}
{{- end -}}
{{- $config := .Files.Get "files/config.yaml" | fromYaml -}}
{{ mergeOverwrite $config (deepCopy $values) (deepCopy $last) | toYaml }}
{{- end }}

{{/* The name of the Lease in the resulting configuration. */}}
{{- define "karpenter-node-holder.lease" -}}
{{- $config := include "karpenter-node-holder.config" . | fromYaml -}}
{{ ($config.leaderElection).name | default "karpenter-node-holder" }}
{{- end }}

{{- define "karpenter-node-holder.holds" -}}
{{- $config := include "karpenter-node-holder.config" . | fromYaml -}}
{{- $keys := concat (list $config.holdAnnotation.key) .Values.leastPrivilege.formerHoldKeys | uniq -}}
['{{ join "', '" $keys }}']
{{- end }}
