{{- define "bookkeeper.name" -}}
{{- $name := printf "%s-%s" .Release.Name .Chart.Name }}
{{- if contains .Chart.Name .Release.Name }}{{ $name = .Release.Name }}{{ end }}
{{- $name | trunc 40 | trimSuffix "-" -}}
{{- end }}

{{- define "bookkeeper.labels" -}}
{{ include "bookkeeper.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ .Chart.Name }}-{{ .Chart.Version }}
{{- end }}

{{- define "bookkeeper.selector" -}}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "bookkeeper.image" -}}
image: {{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
imagePullPolicy: {{ .Values.image.pullPolicy }}
{{- end }}

{{- /* One variable for each key of a map, sorted; whole numbers must not become 1e+06. */}}
{{- define "bookkeeper.variables" -}}
{{- range $key, $value := . }}
- name: BK_{{ $key }}
  value: {{ if kindIs "float64" $value }}{{ $value | int64 | quote }}{{ else }}{{ $value | toString | quote }}{{ end }}
{{- end }}
{{- end }}

{{- /* Keys that all processes of the cluster share. */}}
{{- define "bookkeeper.cluster" -}}
{{- $uri := required "metadataServiceUri is needed, as zk+hierarchical://zk-0.zk:2181;zk-1.zk:2181/ledgers" .Values.metadataServiceUri }}
{{- include "bookkeeper.variables" (merge (dict "metadataServiceUri" $uri) .Values.config) }}
{{- with .Values.extraEnv }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{- /* Keys of the two kinds of servers: everything over HTTP for the pod alone, but for the metrics. */}}
{{- define "bookkeeper.http" -}}
{{- $ports := .Values.ports }}
{{- include "bookkeeper.variables" (dict "httpServerEnabled" true "httpServerHost" "127.0.0.1" "httpServerPort" $ports.http
      "statsProviderClass" "org.apache.bookkeeper.stats.prometheus.PrometheusMetricsProvider"
      "prometheusStatsHttpAlways" true "prometheusStatsHttpPort" $ports.metrics) }}
{{- end }}

{{- define "bookkeeper.probe" -}}
exec:
  command: [bookkeeper-twisted, probe, {{ .what }}]
periodSeconds: {{ .times.periodSeconds }}
failureThreshold: {{ .times.failureThreshold }}
timeoutSeconds: {{ .times.timeoutSeconds }}
{{- end }}

{{- define "bookkeeper.pod" -}}
serviceAccountName: {{ .Values.serviceAccountName }}
automountServiceAccountToken: false
enableServiceLinks: false
{{- with .Values.imagePullSecrets }}
imagePullSecrets: {{ toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.priorityClassName }}
priorityClassName: {{ . }}
{{- end }}
securityContext: {{ toYaml .Values.podSecurityContext | nindent 2 }}
{{- with .Values.nodeSelector }}
nodeSelector: {{ toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.tolerations }}
tolerations: {{ toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{- define "bookkeeper.job" -}}
apiVersion: batch/v1
kind: Job
metadata:
  name: {{ include "bookkeeper.name" .root }}-{{ .name }}
  labels: {{ include "bookkeeper.labels" .root | nindent 4 }}
    app.kubernetes.io/component: job
  annotations:
    helm.sh/hook: {{ .hook }}
    helm.sh/hook-delete-policy: before-hook-creation,hook-succeeded
spec:
  backoffLimit: 0
  template:
    metadata:
      labels: {{ include "bookkeeper.selector" .root | nindent 8 }}
        app.kubernetes.io/component: job
    spec:
      {{- include "bookkeeper.pod" .root | nindent 6 }}
      restartPolicy: Never
      containers:
        - name: {{ .name }}
          {{- include "bookkeeper.image" .root | nindent 10 }}
          securityContext: {{ toYaml .root.Values.securityContext | nindent 12 }}
          command: [sh, -euc]
          args:
            - |
              {{- .root.Files.Get (printf "files/%s.sh" .name) | nindent 14 }}
          env:
            - name: NAME
              value: {{ include "bookkeeper.name" .root }}
            - name: REPLICAS
              value: {{ .root.Values.replicas | int64 | quote }}
            - name: PATIENCE
              value: {{ .root.Values.scaleDown.patienceSeconds | int64 | quote }}
            {{- include "bookkeeper.cluster" .root | nindent 12 }}
          resources: {{ toYaml .root.Values.autorecovery.resources | nindent 12 }}
          volumeMounts:
            - name: temporary
              mountPath: /tmp
            {{- with .root.Values.extraVolumeMounts }}
            {{- toYaml . | nindent 12 }}
            {{- end }}
      volumes:
        - name: temporary
          emptyDir: {}
        {{- with .root.Values.extraVolumes }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
{{- end }}
