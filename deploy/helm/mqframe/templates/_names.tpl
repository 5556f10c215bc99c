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

{{- define "mqframe.container" -}}
image: {{ include "mqframe.image" .root }}
imagePullPolicy: {{ .root.Values.image.pullPolicy }}
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities: {drop: [ALL]}
resources: {{- toYaml .part.resources | nindent 2 }}
volumeMounts:
  - {name: data, mountPath: /data}
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
prometheus.io/scrape: "true"
prometheus.io/port: {{ .Values.metrics.port | quote }}
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
