{{- /* The parts that the processes share. The chart uses only the functions of Go's own templates, so that a
test without Helm can render it. */ -}}

{{- define "beaver.labels" }}
    app.kubernetes.io/name: beaver
    app.kubernetes.io/instance: {{ printf "%q" .Release.Name }}
    app.kubernetes.io/managed-by: {{ printf "%q" .Release.Service }}
{{- end }}

{{- define "beaver.podSecurity" }}
      serviceAccountName: {{ .Release.Name }}-beaver
      automountServiceAccountToken: false
      securityContext:
        runAsNonRoot: true
        runAsUser: 65532
        runAsGroup: 65532
        fsGroup: 65532
        seccompProfile: { type: RuntimeDefault }
{{- end }}

{{- define "beaver.container" }}
          image: {{ printf "%q" (printf "%s:%s" .Values.image.repository .Values.image.tag) }}
          imagePullPolicy: {{ .Values.image.pullPolicy }}
          securityContext:
            allowPrivilegeEscalation: false
            readOnlyRootFilesystem: true
            capabilities: { drop: [ALL] }
{{- end }}

{{- define "beaver.env" }}
            - { name: NATS_URL, value: {{ printf "%q" .Values.natsUrl }} }
            - { name: BEAVER_NAMESPACE, value: {{ printf "%q" .Values.namespace }} }
            - { name: BEAVER_TENANT, value: {{ printf "%q" .Values.tenant }} }
            - { name: BEAVER_CONFIG, value: /etc/beaver/beaver.config.json }
            - { name: BEAVER_NATS_KEYS, value: /keys/nats }
            - { name: BEAVER_KEYS, value: /keys/journal }
            - { name: BEAVER_STATUS_LISTEN, value: '{{ if .Values.status }}0.0.0.0{{ else }}off{{ end }}' }
{{- end }}

{{- define "beaver.mounts" }}
            - { name: data, mountPath: /data }
            - { name: tmp, mountPath: /tmp }
            - { name: config, mountPath: /etc/beaver, readOnly: true }
            - { name: nats-keys, mountPath: /keys/nats, readOnly: true }
            - { name: journal-keys, mountPath: /keys/journal, readOnly: true }
{{- end }}

{{- define "beaver.volumes" }}
        - { name: tmp, emptyDir: { sizeLimit: 256Mi } }
        - { name: config, configMap: { name: {{ .Release.Name }}-beaver } }
{{- end }}

{{- define "beaver.operatorPin" }}
              - { key: operator, path: "operators/BEAVER_{{ .Values.namespace }}{{ if ne .Values.tenant "local" }}__{{ .Values.tenant }}{{ end }}" }
{{- end }}

{{- define "beaver.statusProbes" }}
{{- if .Values.status }}
          # A process answers as soon as it is ready. Until then, the others do not count.
          startupProbe:
            httpGet: { path: /healthz, port: status }
            periodSeconds: 5
            failureThreshold: 60
          readinessProbe:
            httpGet: { path: /readyz, port: status }
            periodSeconds: 5
          livenessProbe:
            httpGet: { path: /healthz, port: status }
            periodSeconds: 20
            timeoutSeconds: 10
{{- end }}
{{- end }}
