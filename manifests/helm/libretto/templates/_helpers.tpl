{{/* The names of objects: libretto for a release of that name. */}}
{{- define "libretto.name" -}}
{{ default .Chart.Name .Values.nameOverride | trunc 63 | trimSuffix "-" }}
{{- end }}

{{- define "libretto.fullname" -}}
{{- $name := default .Chart.Name .Values.nameOverride -}}
{{- $full := contains $name .Release.Name | ternary .Release.Name (printf "%s-%s" .Release.Name $name) -}}
{{ default $full .Values.fullnameOverride | trunc 52 | trimSuffix "-" }}
{{- end }}

{{- define "libretto.selector" -}}
app.kubernetes.io/name: {{ include "libretto.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "libretto.labels" -}}
{{ include "libretto.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- end }}

{{/* The fields of a container that are about its image. */}}
{{- define "libretto.image" -}}
{{- with .Values.image -}}
image: {{ .repository }}{{ if .digest }}@{{ .digest }}{{ else }}:{{ default $.Chart.AppVersion .tag }}{{ end }}
{{- with .pullPolicy }}
imagePullPolicy: {{ . }}
{{- end }}
{{- end }}
{{- end }}

{{- define "libretto.serviceAccountName" -}}
{{ default (include "libretto.fullname" .) .Values.serviceAccount.name }}
{{- end }}

{{/* The metadata of an object: (list . SUFFIX), (list . SUFFIX NAMESPACE). Without a namespace it is in none; "" stands for that of the release. */}}
{{- define "libretto.metadata" -}}
{{- $root := first . -}}
metadata:
  name: {{ include "libretto.fullname" $root }}{{ index . 1 }}
{{- if gt (len .) 2 }}
  namespace: {{ default $root.Release.Namespace (index . 2) }}
{{- end }}
  labels:
    {{- include "libretto.labels" $root | nindent 4 }}
{{- end }}

{{/* The metadata of an object, as libretto.metadata has it, of a binding to the host, and the rest of that: (list KIND ROLE . SUFFIX NAMESPACE). */}}
{{- define "libretto.binding" -}}
{{- $root := index . 2 -}}
apiVersion: rbac.authorization.k8s.io/v1
kind: {{ gt (len .) 4 | ternary "RoleBinding" "ClusterRoleBinding" }}
{{ include "libretto.metadata" (rest (rest .)) }}
roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: {{ first . }}
  name: {{ index . 1 }}
subjects:
- kind: ServiceAccount
  name: {{ include "libretto.serviceAccountName" $root }}
  namespace: {{ $root.Release.Namespace }}
{{- end }}

{{/* The objects of a file of manifests/, with the labels of the chart: (list . PATH). */}}
{{- define "libretto.manifest" -}}
{{- $labels := include "libretto.labels" (first .) | fromYaml }}
{{- range splitList "\n---\n" ((first .).Files.Get (index . 1)) }}
{{- $object := fromYaml . }}
{{- $_ := set $object.metadata "labels" (mergeOverwrite (dict) $labels (default dict $object.metadata.labels)) }}
---
{{ toYaml $object }}
{{- end }}
{{- end }}
