{{- define "mqframe.name" -}}
{{- if contains .Chart.Name .Release.Name -}}
{{- .Release.Name | trunc 40 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name .Chart.Name | trunc 40 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{- define "mqframe.labels" -}}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "mqframe.image" -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end -}}

{{/* All name servers, as brokers and clients want them. */}}
{{- define "mqframe.nameservers" -}}
{{- $name := include "mqframe.name" . -}}
{{- $all := list -}}
{{- range $n := until (int .Values.nameserver.replicas) -}}
{{- $all = append $all (printf "%s-nameserver-%d.%s-nameserver.%s.svc:9876" $name $n $name $.Release.Namespace) -}}
{{- end -}}
{{- join ";" $all -}}
{{- end -}}

{{/* What every pod has: who it runs as, what it may do, what it reads. Called with a dictionary of root, part. */}}
{{- define "mqframe.pod" -}}
{{- with .root.Values.image.pullSecrets }}
imagePullSecrets: {{- toYaml . | nindent 2 }}
{{- end }}
automountServiceAccountToken: false
# Variables that are made of services could be named like those of settings.
enableServiceLinks: false
securityContext:
  runAsNonRoot: true
  runAsUser: 10001
  runAsGroup: 10001
  fsGroup: 10001
  fsGroupChangePolicy: OnRootMismatch
  seccompProfile: {type: RuntimeDefault}
{{- with .part.nodeSelector }}
nodeSelector: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .part.tolerations }}
tolerations: {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}

{{- define "mqframe.volumes" -}}
volumes:
  - name: settings
    configMap: {name: {{ include "mqframe.name" .root }}}
  - name: tmp
    emptyDir: {}
  {{- with .root.Values.secretName }}
  - name: secrets
    secret: {secretName: {{ . }}, defaultMode: 0440}
  {{- end }}
{{- end -}}

{{- define "mqframe.confined" -}}
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities: {drop: [ALL]}
resources: {{- toYaml .resources | nindent 2 }}
{{- end -}}

{{/* A container of this image. Called with a dictionary of root, part and, where the pod keeps files, data. */}}
{{- define "mqframe.container" -}}
image: {{ include "mqframe.image" .root }}
imagePullPolicy: {{ .root.Values.image.pullPolicy }}
{{ include "mqframe.confined" .part }}
volumeMounts:
  {{- if .data }}
  - {name: data, mountPath: /data}
  {{- end }}
  - {name: settings, mountPath: /etc/mqframe}
  - {name: tmp, mountPath: /tmp}
  {{- if .root.Values.secretName }}
  - {name: secrets, mountPath: /etc/mqframe-secrets, readOnly: true}
  {{- end }}
{{- end -}}

{{/* Health is answered from the first moment on, also while a store is recovered, by a thread of its own. */}}
{{- define "mqframe.probes" -}}
readinessProbe:
  httpGet: {path: /readyz, port: metrics}
  timeoutSeconds: 5
livenessProbe:
  httpGet: {path: /healthz, port: metrics}
  periodSeconds: 20
  timeoutSeconds: 5
  failureThreshold: 6
{{- end -}}

{{- define "mqframe.annotations" -}}
{{- if not .Values.metrics.serviceMonitor.enabled }}
prometheus.io/scrape: "true"
prometheus.io/port: {{ .Values.metrics.port | quote }}
{{- end }}
checksum/settings: {{ .Values.settings | sha256sum }}
{{- with .Values.podAnnotations }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{- define "mqframe.claim" -}}
metadata:
  name: data
spec:
  accessModes: [ReadWriteOnce]
  {{- with .className }}
  storageClassName: {{ . }}
  {{- end }}
  resources: {requests: {storage: {{ .size }}}}
{{- end -}}

{{/* What all members of etcd in the chart have as the beginning of their names. */}}
{{- define "mqframe.etcd" -}}
{{ include "mqframe.name" . }}-etcd
{{- end -}}

{{/* Addresses of all members of etcd: those for clients, or with their names those for one another. Called with a
     dictionary of root, peers. */}}
{{- define "mqframe.etcdMembers" -}}
{{- $set := include "mqframe.etcd" .root -}}
{{- $all := list -}}
{{- range $n := until (int .root.Values.etcd.replicas) -}}
{{- $host := printf "%s-%d.%s.%s.svc" $set $n $set $.root.Release.Namespace -}}
{{- $all = append $all (ternary (printf "%s-%d=http://%s:2380" $set $n $host) (printf "http://%s:2379" $host) $.peers) -}}
{{- end -}}
{{- join "," $all -}}
{{- end -}}
