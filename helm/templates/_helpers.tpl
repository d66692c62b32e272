{{- define "scopegate.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 63 | trimSuffix "-" }}
{{- end }}

{{/*
A label has at most 63 characters. A name of at most 40 characters leaves room for the longest suffix, "-authorization-server". A longer
name is cut, and gets a hash of the complete name, so that different releases have different names.
*/}}
{{- define "scopegate.fullname" -}}
{{- $name := include "scopegate.name" . }}
{{- $name = ternary .Release.Name (printf "%s-%s" .Release.Name $name) (contains $name .Release.Name) }}
{{- $name = default $name .Values.fullnameOverride | trimSuffix "-" }}
{{- if gt (len $name) 40 }}
{{- printf "%s-%s" (trunc 33 $name | trimSuffix "-") (sha256sum $name | trunc 6) }}
{{- else }}
{{- $name }}
{{- end }}
{{- end }}

{{- define "scopegate.authorizationServerName" -}}
{{- include "scopegate.fullname" . }}-authorization-server
{{- end }}

{{- define "scopegate.namespace" -}}
{{- default .Release.Namespace .Values.namespaceOverride }}
{{- end }}

{{- define "scopegate.serviceAccountName" -}}
{{- if .Values.serviceAccount.create }}
{{- default (include "scopegate.fullname" .) .Values.serviceAccount.name }}
{{- else }}
{{- default "default" .Values.serviceAccount.name }}
{{- end }}
{{- end }}

{{/*
The address that a service listens on: `::` also accepts connections over IPv4. Takes the values of its Service.
*/}}
{{- define "scopegate.listenHost" -}}
{{- if or (has "IPv6" .ipFamilies) (hasSuffix "DualStack" .ipFamilyPolicy) }}::{{ else }}0.0.0.0{{ end }}
{{- end }}

{{/* The DNS names of a Service within the cluster, as a JSON list. Takes (dict "root" $ "name" name). */}}
{{- define "scopegate.serviceNames" -}}
{{- $namespace := include "scopegate.namespace" .root -}}
{{- list .name (printf "%s.%s" .name $namespace) (printf "%s.%s.svc" .name $namespace) (printf "%s.%s.svc.cluster.local" .name $namespace) | toJson }}
{{- end }}

{{/* Takes (dict "root" $ "component" name). */}}
{{- define "scopegate.selectorLabels" -}}
app.kubernetes.io/name: {{ include "scopegate.name" .root | quote }}
app.kubernetes.io/instance: {{ .root.Release.Name | quote }}
app.kubernetes.io/component: {{ .component }}
{{- end }}

{{/* Takes (dict "root" $ "component" name). */}}
{{- define "scopegate.labels" -}}
helm.sh/chart: {{ printf "%s-%s" .root.Chart.Name .root.Chart.Version | replace "+" "_" | trunc 63 | trimSuffix "-" }}
{{ include "scopegate.selectorLabels" . }}
app.kubernetes.io/part-of: scopegate
app.kubernetes.io/version: {{ .root.Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .root.Release.Service }}
{{- with .root.Values.commonLabels }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{/* The metadata of every object. Takes (dict "root" $ "component" name "name" name "annotations" map "objectLabels" map "namespace" name). */}}
{{- define "scopegate.metadata" -}}
name: {{ .name | quote }}
namespace: {{ default (include "scopegate.namespace" .root) .namespace | quote }}
labels:
  {{- include "scopegate.labels" . | nindent 2 }}
  {{- with .objectLabels }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- with merge (dict) (default (dict) .annotations) .root.Values.commonAnnotations }}
annotations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{/*
Takes (dict "root" $ "registry" host "repository" name "digest" text "tag" text). The default registry is image.registry. The default
tag is image.tag, or the version of the chart.
*/}}
{{- define "scopegate.image" -}}
{{- $registry := coalesce .root.Values.global.imageRegistry .registry .root.Values.image.registry -}}
{{- $name := .repository -}}
{{- if $registry }}{{ $name = printf "%s/%s" $registry .repository }}{{ end -}}
{{- if .digest -}}
{{ $name }}@{{ .digest }}
{{- else -}}
{{ $name }}:{{ coalesce .tag .root.Values.image.tag .root.Chart.AppVersion }}
{{- end }}
{{- end }}

{{/* Issuer URL of the bundled authorization server. */}}
{{- define "scopegate.issuer" -}}
{{- default .Values.gateway.baseUrl .Values.authorizationServer.issuer }}
{{- end }}

{{/* `issuers` of gateway.yaml, as JSON: the bundled authorization server first, then `gateway.issuers`. */}}
{{- define "scopegate.issuers" -}}
{{- $issuers := list -}}
{{- if .Values.authorizationServer.enabled -}}
{{- $server := printf "http://%s:8081" (include "scopegate.authorizationServerName" .) -}}
{{- $introspection := dict "endpoint" (printf "%s/api/oauth/introspect" $server) "clientId" .Values.authorizationServer.gatewayClient.id "clientSecretFile" "/etc/scopegate/secrets/gateway-client-secret" -}}
{{- $bundled := dict "issuer" (include "scopegate.issuer" .) "introspection" $introspection "revocations" (printf "%s/internal/revocations" $server) -}}
{{- if eq .Values.authorizationServer.accessTokenFormat "jwt" -}}
{{- $_ := set $bundled "jwt" (dict "keys" (dict "uri" (printf "%s/api/oauth/jwks" $server))) -}}
{{- end -}}
{{- $issuers = append $issuers (mergeOverwrite $bundled (deepCopy .Values.gateway.bundledIssuer)) -}}
{{- end -}}
{{- range $index, $issuer := .Values.gateway.issuers -}}
{{- $entry := deepCopy $issuer -}}
{{- if $entry.introspection -}}
{{- $_ := set $entry.introspection "clientSecretFile" (printf "/etc/scopegate/secrets/%s" (include "scopegate.issuerSecretFile" $index)) -}}
{{- $_ := unset $entry.introspection "clientSecret" -}}
{{- end -}}
{{- $issuers = append $issuers $entry -}}
{{- end -}}
{{- toJson $issuers -}}
{{- end }}

{{/* Name of the file with the client secret of an entry of `gateway.issuers`. Takes the index of the entry. */}}
{{- define "scopegate.issuerSecretFile" -}}
issuer-{{ . }}-client-secret
{{- end }}

{{/* `signIn` of the authorization server as JSON, with a file for the client secret at each provider. */}}
{{- define "scopegate.signIn" -}}
{{- $providers := list -}}
{{- range .Values.authorizationServer.signIn.providers -}}
{{- $file := printf "/etc/scopegate/secrets/%s" (include "scopegate.providerSecretFile" .name) -}}
{{- $providers = append $providers (merge (dict "clientSecretFile" $file) (omit . "clientSecret")) -}}
{{- end -}}
{{- $signIn := dict "local" .Values.authorizationServer.signIn.local "providers" $providers -}}
{{- with .Values.authorizationServer.signIn.secondFactor -}}
{{- if ne .mode "off" -}}
{{- $acr := empty .acr | ternary (dict) (dict "acr" .acr) -}}
{{- $_ := set $signIn "secondFactor" (merge (dict "mode" .mode) $acr) -}}
{{- end -}}
{{- end -}}
{{- toJson $signIn -}}
{{- end }}

{{/* File with the client secret at an OpenID provider. Takes the name of the provider. */}}
{{- define "scopegate.providerSecretFile" -}}
sign-in-{{ . }}-client-secret
{{- end }}

{{/* Whether the canary gets its tokens from the bundled authorization server. */}}
{{- define "scopegate.hasBundledCanary" -}}
{{- if and .Values.canary.enabled (not .Values.canary.issuer) }}true{{ end }}
{{- end }}

{{/* The Secret of the canary as a list of projected sources. The authorization server reads the same file. */}}
{{- define "scopegate.canarySecret" -}}
- secret:
    name: {{ include "scopegate.canarySecretName" . | quote }}
    items:
      - { key: {{ ternary .Values.canary.existingSecretKey "client-secret" (ne .Values.canary.existingSecret "") | quote }}, path: canary-client-secret }
{{- end }}

{{/* The pods of a component as a peer of a NetworkPolicy, in JSON. Takes (dict "root" $ "component" name). */}}
{{- define "scopegate.podPeer" -}}
{{- dict "podSelector" (dict "matchLabels" (include "scopegate.selectorLabels" . | fromYaml)) | toJson }}
{{- end }}

{{/* `dnsNames` and `ipAddresses` of the certificate, as JSON. */}}
{{- define "scopegate.certificateNames" -}}
{{- $names := dict -}}
{{- with .Values.certificate.dnsNames }}{{ $_ := set $names "dnsNames" . }}{{ end -}}
{{- range ternary (include "scopegate.publicRoutes" . | fromJsonArray) list (empty $names) -}}
{{- $kind := ternary "ipAddresses" "dnsNames" (regexMatch "^[0-9.]+$|:" .host) -}}
{{- $_ := set $names $kind (append (get $names $kind | default list) .host) -}}
{{- end -}}
{{- toJson $names -}}
{{- end }}

{{- define "scopegate.certificateSecret" -}}
{{- default (printf "%s-certificate" (include "scopegate.fullname" .)) .Values.certificate.secretName }}
{{- end }}

{{/* Name of the Secret with the certificate of the gateway; empty: plain HTTP. */}}
{{- define "scopegate.tlsSecret" -}}
{{- if and .Values.certificate.enabled (eq .Values.certificate.usedBy "gateway") }}{{ include "scopegate.certificateSecret" . }}{{ else }}{{ .Values.gateway.tls.existingSecret }}{{ end }}
{{- end }}

{{/* The Secrets that the gateway reads, as a list of projected sources; empty if the gateway needs no Secret. */}}
{{- define "scopegate.gatewaySecrets" -}}
{{- if .Values.authorizationServer.enabled }}
- secret:
    name: {{ include "scopegate.clientSecretName" . | quote }}
    items:
      - { key: {{ include "scopegate.clientSecretKey" . | quote }}, path: gateway-client-secret }
{{- end }}
{{- range $index, $issuer := .Values.gateway.issuers }}
{{- with (.introspection | default dict).clientSecret }}
- secret:
    name: {{ .existingSecret | quote }}
    items:
      - { key: {{ default "client-secret" .existingSecretKey | quote }}, path: {{ include "scopegate.issuerSecretFile" $index }} }
{{- end }}
{{- end }}
{{- with include "scopegate.tlsSecret" . }}
- secret:
    name: {{ quote . }}
    items:
      - { key: tls.crt, path: tls.crt }
      - { key: tls.key, path: tls.key }
{{- end }}
{{- with .Values.gateway.assertion.existingSecret }}
- secret:
    name: {{ quote . }}
    items:
      - { key: {{ quote $.Values.gateway.assertion.existingSecretKey }}, path: assertion.pem }
{{- end }}
{{- range $name, $redis := dict "redis" .Values.redis "gateway-redis" .Values.gatewayRedis }}
{{- with include "scopegate.redisSources" (dict "redis" $redis "name" $name) | fromYamlArray }}
{{ toYaml . }}
{{- end }}
{{- end }}
{{- end }}

{{/*
The paths of `gateway.config.resources` whose metadata names the bundled authorization server, as JSON.
With gateway.existingConfigMap, set authorizationServer.config.protectedResources instead.
*/}}
{{- define "scopegate.protectedResources" -}}
{{- $paths := list -}}
{{- $issuer := include "scopegate.issuer" . -}}
{{- if not .Values.gateway.existingConfigMap -}}
{{- range (.Values.gateway.config.resources | default list) -}}
{{- if and (ne (.path | default "/") "/") (has $issuer (.issuers | default (list $issuer))) -}}
{{- $paths = append $paths .path -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- toJson $paths -}}
{{- end }}

{{- define "scopegate.usesRedis" -}}
{{- if or .Values.redis.url .Values.redis.existingSecret .Values.redis.sentinel .Values.redis.cluster }}true{{ end }}
{{- end }}

{{/* Whether the gateways use a separate Redis for volatile data. */}}
{{- define "scopegate.usesGatewayRedis" -}}
{{- if or .Values.gatewayRedis.url .Values.gatewayRedis.sentinel .Values.gatewayRedis.cluster }}true{{ end }}
{{- end }}

{{/*
Settings of a connection to Redis, without an address from a Secret, as JSON.
Takes (dict "redis" values "name" name), where name is the prefix of the files.
*/}}
{{- define "scopegate.redisSettings" -}}
{{- $folder := printf "/etc/scopegate/secrets/%s" .name -}}
{{- $settings := dict -}}
{{- with .redis.sentinel -}}
{{- $password := empty $.redis.sentinelPasswordSecret | ternary dict (dict "passwordFile" (printf "%s-sentinel-password" $folder)) -}}
{{- $_ := set $settings "sentinel" (merge $password .) -}}
{{- end -}}
{{- with .redis.cluster }}{{ $_ := set $settings "cluster" . }}{{ end -}}
{{- with .redis.username }}{{ $_ := set $settings "username" . }}{{ end -}}
{{- if .redis.passwordSecret }}{{ $_ := set $settings "passwordFile" (printf "%s-password" $folder) }}{{ end -}}
{{- $tls := dict -}}
{{- if .redis.caSecret }}{{ $_ := set $tls "caFile" (printf "%s-ca.pem" $folder) }}{{ end -}}
{{- if .redis.clientCertificateSecret -}}
{{- $_ := set $tls "certFile" (printf "%s-client.crt" $folder) -}}
{{- $_ := set $tls "keyFile" (printf "%s-client.key" $folder) -}}
{{- end -}}
{{- if $tls }}{{ $_ := set $settings "tls" $tls }}{{ end -}}
{{- toJson $settings -}}
{{- end }}

{{/* The Secrets of a connection to Redis, as a list of projected sources. Takes the parameters of scopegate.redisSettings. */}}
{{- define "scopegate.redisSources" -}}
{{- $sources := list -}}
{{- with .redis.passwordSecret -}}
{{- $item := dict "key" $.redis.passwordSecretKey "path" (printf "%s-password" $.name) -}}
{{- $sources = append $sources (dict "secret" (dict "name" . "items" (list $item))) -}}
{{- end -}}
{{- with .redis.sentinelPasswordSecret -}}
{{- $item := dict "key" $.redis.sentinelPasswordSecretKey "path" (printf "%s-sentinel-password" $.name) -}}
{{- $sources = append $sources (dict "secret" (dict "name" . "items" (list $item))) -}}
{{- end -}}
{{- with .redis.caSecret -}}
{{- $item := dict "key" $.redis.caSecretKey "path" (printf "%s-ca.pem" $.name) -}}
{{- $sources = append $sources (dict "secret" (dict "name" . "items" (list $item))) -}}
{{- end -}}
{{- with .redis.clientCertificateSecret -}}
{{- $items := list (dict "key" "tls.crt" "path" (printf "%s-client.crt" $.name)) (dict "key" "tls.key" "path" (printf "%s-client.key" $.name)) -}}
{{- $sources = append $sources (dict "secret" (dict "name" . "items" $items)) -}}
{{- end -}}
{{- toYaml $sources -}}
{{- end }}

{{/* The type of the store of the authorization server. With PostgreSQL, only the gateways use Redis. */}}
{{- define "scopegate.storeType" -}}
{{- if .Values.postgres.url }}postgres{{ else if include "scopegate.usesRedis" . }}redis{{ else }}sqlite{{ end }}
{{- end }}

{{/* The ConfigMaps with policies, as JSON: the ConfigMap of the chart first. Empty when the policies are in a claim or in policy sources. */}}
{{- define "scopegate.policyConfigMaps" -}}
{{- $names := list -}}
{{- if not (or .Values.policies.existingClaim .Values.policies.sources) -}}
{{- $names = prepend .Values.policies.configMaps (printf "%s-policies" (include "scopegate.fullname" .)) -}}
{{- end -}}
{{- uniq $names | toJson -}}
{{- end }}

{{- define "scopegate.hasPolicies" -}}
{{- with .Values.policies }}{{ if or .inline .configMaps .existingClaim .sources }}true{{ end }}{{ end }}
{{- end }}

{{/* Whether all pods of the authorization server have the same signing keys: from a Secret, or from another file. */}}
{{- define "scopegate.hasSigningKeys" -}}
{{- with .Values.authorizationServer }}{{ if or .signingKeys.existingSecret (hasKey .config "signingKeysFile") }}true{{ end }}{{ end }}
{{- end }}

{{- define "scopegate.authorizationServerReplicas" -}}
{{- if kindIs "invalid" .Values.authorizationServer.replicaCount }}{{ .Values.replicaCount }}{{ else }}{{ .Values.authorizationServer.replicaCount }}{{ end }}
{{- end }}

{{/* The largest number of pods of the authorization server. */}}
{{- define "scopegate.authorizationServerMaximum" -}}
{{- if .Values.authorizationServer.autoscaling.enabled }}{{ .Values.authorizationServer.autoscaling.maxReplicas }}{{ else }}{{ include "scopegate.authorizationServerReplicas" . }}{{ end }}
{{- end }}

{{/*
The installed components, as a JSON list of (dict "component" name "name" name "path" prefix "replicas" number "autoscaling" map
"podDisruptionBudget" map "files" list). The path is the prefix of the component's values. The files are the templates with the
configuration.
*/}}
{{- define "scopegate.components" -}}
{{- $components := list -}}
{{- if .Values.gateway.enabled -}}
{{- $components = append $components (merge (dict "component" "gateway" "name" (include "scopegate.fullname" .) "path" "" "replicas" .Values.replicaCount "files" (list "gateway-configmap" "policies-configmap")) (pick .Values "autoscaling" "podDisruptionBudget")) -}}
{{- end -}}
{{- if .Values.authorizationServer.enabled -}}
{{- $components = append $components (merge (dict "component" "authorization-server" "name" (include "scopegate.authorizationServerName" .) "path" "authorizationServer." "replicas" (include "scopegate.authorizationServerReplicas" . | int) "files" (list "authorization-server-configmap")) (pick .Values.authorizationServer "autoscaling" "podDisruptionBudget")) -}}
{{- end -}}
{{- toJson $components -}}
{{- end }}

{{/* Number of pods of a PodDisruptionBudget. Kubernetes rounds percentages up. Takes (dict "value" number-or-percentage "of" number). */}}
{{- define "scopegate.podCount" -}}
{{- $value := toString .value -}}
{{- if hasSuffix "%" $value }}{{ divf (mulf (trimSuffix "%" $value) .of) 100 | ceil }}{{ else }}{{ $value }}{{ end -}}
{{- end }}

{{/* Names and keys of the Secrets that pods read: of the existing Secret, or otherwise of the generated Secret. */}}
{{- define "scopegate.clientSecretName" -}}
{{- default (printf "%s-gateway-client" (include "scopegate.fullname" .)) .Values.authorizationServer.gatewayClient.existingSecret }}
{{- end }}
{{- define "scopegate.clientSecretKey" -}}
{{- if .Values.authorizationServer.gatewayClient.existingSecret }}{{ .Values.authorizationServer.gatewayClient.existingSecretKey }}{{ else }}client-secret{{ end }}
{{- end }}
{{- define "scopegate.canarySecretName" -}}
{{- default (printf "%s-canary-client" (include "scopegate.fullname" .)) .Values.canary.existingSecret }}
{{- end }}
{{- define "scopegate.cookieSecretName" -}}
{{- default (printf "%s-cookie-keys" (include "scopegate.fullname" .)) .Values.authorizationServer.cookieSecret.existingSecret }}
{{- end }}
{{- define "scopegate.cookieSecretKey" -}}
{{- if .Values.authorizationServer.cookieSecret.existingSecret }}{{ .Values.authorizationServer.cookieSecret.existingSecretKey }}{{ else }}cookie-keys{{ end }}
{{- end }}
{{- define "scopegate.redisSecretName" -}}
{{- default (printf "%s-redis" (include "scopegate.fullname" .)) .Values.redis.existingSecret }}
{{- end }}
{{- define "scopegate.redisSecretKey" -}}
{{- if .Values.redis.existingSecret }}{{ .Values.redis.existingSecretKey }}{{ else }}redis-url{{ end }}
{{- end }}

{{/*
The address of Redis as a list of environment variables; empty without an address. Takes (dict "root" $ "name" variable).
*/}}
{{- define "scopegate.redisEnv" -}}
{{- $name := .name -}}
{{- with .root -}}
{{- if or .Values.redis.url .Values.redis.existingSecret -}}
- name: {{ $name }}
  valueFrom:
    secretKeyRef:
      name: {{ include "scopegate.redisSecretName" . | quote }}
      key: {{ include "scopegate.redisSecretKey" . | quote }}
{{- end }}
{{- end }}
{{- end }}

{{/*
A secret value in base64 that an upgrade keeps: if the Secret exists in the cluster, its value is used. A generated value is stored for
the rest of the rendering, so that the Secret and the checksums of the pods use the same value.
Takes (dict "root" $ "name" Secret "key" key).
*/}}
{{- define "scopegate.keptSecret" -}}
{{- $root := .root -}}
{{- if not (hasKey $root.Values "keptSecrets") }}{{ $_ := set $root.Values "keptSecrets" (dict) }}{{ end -}}
{{- $id := printf "%s/%s" .name .key -}}
{{- if not (hasKey $root.Values.keptSecrets $id) -}}
{{- $value := randAlphaNum 48 | b64enc -}}
{{- $found := lookup "v1" "Secret" (include "scopegate.namespace" $root) .name -}}
{{- with $found }}{{ with .data }}{{ with index . $.key }}{{ $value = . }}{{ end }}{{ end }}{{ end -}}
{{- $_ := set $root.Values.keptSecrets $id $value -}}
{{- end -}}
{{- get $root.Values.keptSecrets $id -}}
{{- end }}

{{/* A share of a memory limit, in MiB; empty without a limit. Takes (dict "resources" map "share" number). */}}
{{- define "scopegate.memoryMegabytes" -}}
{{- with dig "limits" "memory" "" .resources -}}
{{- /* helm reads a number as a float64, whose text can have an exponent. */ -}}
{{- $limit := ternary . (printf "%.0f" (float64 .)) (kindIs "string" .) -}}
{{- $number := regexFind "^[0-9]+(\\.[0-9]+)?" $limit -}}
{{- $bytesPer := dict "" 1.0 "k" 1000.0 "Ki" 1024.0 "M" 1000000.0 "Mi" 1048576.0 "G" 1000000000.0 "Gi" 1073741824.0 -}}
{{- $unit := trimPrefix $number $limit -}}
{{- $megabytes := divf (mulf (float64 $number) (get $bytesPer $unit | default 0.0)) 1048576.0 -}}
{{- if lt $megabytes 1.0 }}{{ fail (printf "resources.limits.memory is %q: use Mi or Gi, for example 384Mi." $limit) }}{{ end -}}
{{- mulf $megabytes $.share | floor | int64 -}}
{{- end -}}
{{- end }}

{{/*
A checksum of the Secrets that the chart creates, without the Secrets that the pod does not name. Takes the parameters of
scopegate.deployment.
*/}}
{{- define "scopegate.secretsChecksum" -}}
{{- $pod := toJson (list .env .volumes) -}}
{{- $data := list -}}
{{- range splitList "\n---\n" (include (print .root.Template.BasePath "/secrets.yaml") .root) -}}
{{- with fromYaml . -}}
{{- if contains (printf "\"name\":%q" .metadata.name) $pod }}{{ $data = append $data .data }}{{ end -}}
{{- end -}}
{{- end -}}
{{- toJson $data | sha256sum -}}
{{- end }}

{{/*
A value as text, with evaluated template expressions. Rejects an expression of another program, such as {{ .password }}: helm would replace
it by an empty text, or skip its block. Takes (dict "root" $ "path" path "value" value).
*/}}
{{- define "scopegate.evaluate" -}}
{{- $text := ternary .value (toYaml .value) (kindIs "string" .value) -}}
{{- $path := .path -}}
{{- /* Whether each open block changes the context. */ -}}
{{- $blocks := list -}}
{{- $literal := "/\\*(?s:.)*?\\*/|\"(?:[^\"\\\\]|\\\\.)*\"|`[^`]*`" -}}
{{- $pattern := printf "\\{\\{(?:%s|[^\"`}]|\\}[^}])*\\}\\}" $literal -}}
{{- if contains "{{" (regexReplaceAll $pattern $text " ") -}}
{{- fail (printf "%s contains {{ without }}, so helm cannot evaluate it. Add }}, or for a literal {{ write {{`{{`}}." $path) -}}
{{- end -}}
{{- range $action := regexFindAll $pattern $text -1 -}}
{{- $code := regexReplaceAll $literal $action " " -}}
{{- /* The fields of a result, such as `(urlParse $url).host`, are no fields of the context. */ -}}
{{- $code = regexReplaceAll "\\)[.\\w]+" $code " " -}}
{{- $words := regexSplit "[\\s(){}|,=-]+" $code -1 | compact -}}
{{- range $words -}}
{{- $field := regexFind "^\\$?\\.[A-Za-z]\\w*" . | trimPrefix "$" -}}
{{- $isContext := and (has . (list "." "$")) (not (regexMatch "\\b(include|template|tpl)\\b" $code)) -}}
{{- $isUnknown := and $field (not (has $field (list ".Capabilities" ".Chart" ".Files" ".Release" ".Subcharts" ".Template" ".Values"))) -}}
{{- if and (or $isContext $isUnknown) (or (hasPrefix "$" .) (not (has true $blocks))) -}}
{{- fail (printf "%s contains %s, and helm has no value for %s. For an expression of another program, write {{`%s`}}." $path $action . $action) -}}
{{- end -}}
{{- end -}}
{{- $keyword := first $words -}}
{{- if has $keyword (list "block" "define" "if" "range" "with") }}{{ $blocks = append $blocks (ne $keyword "if") }}{{ end -}}
{{- if eq $keyword "end" }}{{ $blocks = initial $blocks | default list }}{{ end -}}
{{- end -}}
{{- tpl $text .root -}}
{{- end }}

{{/*
The Deployment of a component. Takes (dict "root" $ "component" name "own" values "name" name "annotations" map "image" text "command" list
"replicas" number "autoscaling" map "strategy" map "ports" map "resources" map "checksums" map "env" list "volumes" list "sidecars" list
"initContainers" list "sidecarVolumes" list "pullSecrets" list).
Each entry of "volumes" is a volume mount. Its key "source" is the source of the volume.
*/}}
{{- define "scopegate.deployment" -}}
apiVersion: apps/v1
kind: Deployment
metadata:
  {{- include "scopegate.metadata" . | nindent 2 }}
spec:
  {{- if not .autoscaling.enabled }}
  replicas: {{ .replicas }}
  {{- end }}
  revisionHistoryLimit: {{ .root.Values.revisionHistoryLimit }}
  strategy: {{ toJson .strategy }}
  selector:
    matchLabels:
      {{- include "scopegate.selectorLabels" . | nindent 6 }}
  template:
    metadata:
      labels:
        {{- include "scopegate.labels" . | nindent 8 }}
        {{- with merge (dict) .own.podLabels .root.Values.podLabels }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
      annotations:
        {{- merge (dict "checksum/secrets" (include "scopegate.secretsChecksum" .)) .checksums .own.podAnnotations .root.Values.podAnnotations | toYaml | nindent 8 }}
    spec:
      {{- include "scopegate.podSpec" . | nindent 6 }}
{{- end }}

{{/* The pod of a component. Takes the parameters of scopegate.deployment. */}}
{{- define "scopegate.podSpec" -}}
serviceAccountName: {{ include "scopegate.serviceAccountName" .root | quote }}
automountServiceAccountToken: false
enableServiceLinks: false
terminationGracePeriodSeconds: {{ .root.Values.terminationGracePeriodSeconds }}
securityContext:
  {{- toYaml .root.Values.podSecurityContext | nindent 2 }}
{{- with concat .root.Values.imagePullSecrets (default list .pullSecrets) }}
imagePullSecrets:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- range $key := list "priorityClassName" "nodeSelector" "affinity" "tolerations" "hostAliases" "dnsPolicy" "dnsConfig" "runtimeClassName" "schedulerName" }}
{{- with default (index $.root.Values $key) (index $.own $key) }}
{{ $key }}: {{ toJson . }}
{{- end }}
{{- end }}
topologySpreadConstraints:
  {{- with default .root.Values.topologySpreadConstraints .own.topologySpreadConstraints }}
  {{- toYaml . | nindent 2 }}
  {{- else }}
  {{- range list "topology.kubernetes.io/zone" "kubernetes.io/hostname" }}
  - maxSkew: 1
    topologyKey: {{ . }}
    whenUnsatisfiable: ScheduleAnyway
    labelSelector:
      matchLabels:
        {{- include "scopegate.selectorLabels" $ | nindent 8 }}
    matchLabelKeys: [pod-template-hash]
  {{- end }}
  {{- end }}
{{- with concat .root.Values.extraInitContainers .own.extraInitContainers }}
initContainers:
  {{- include "scopegate.evaluate" (dict "root" $.root "path" "extraInitContainers" "value" .) | nindent 2 }}
  {{- with $.initContainers }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- else }}
{{- with .initContainers }}
initContainers:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}
containers:
  - name: {{ .component }}
    {{- include "scopegate.container" . | nindent 4 }}
  {{- with .sidecars }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
  {{- with concat .root.Values.extraContainers .own.extraContainers }}
  {{- include "scopegate.evaluate" (dict "root" $.root "path" "extraContainers" "value" .) | nindent 2 }}
  {{- end }}
volumes:
  {{- range .volumes }}
  - {{ merge (pick . "name") .source | toJson }}
  {{- end }}
  {{- with .sidecarVolumes }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
  {{- with include "scopegate.extraVolumes" . }}
  {{- . | nindent 2 }}
  {{- end }}
{{- end }}

{{/* The volumes of the values of a component, whose names must differ from all others. Takes the parameters of scopegate.deployment. */}}
{{- define "scopegate.extraVolumes" -}}
{{- with concat .root.Values.extraVolumes .own.extraVolumes -}}
{{- $volumes := include "scopegate.evaluate" (dict "root" $.root "path" "extraVolumes" "value" .) -}}
{{- $names := dict -}}
{{- range concat $.volumes (default list $.sidecarVolumes) }}{{ $_ := set $names .name "a volume of the chart" }}{{ end -}}
{{- $common := len $.root.Values.extraVolumes -}}
{{- $own := ternary "gateway" "authorizationServer" (eq $.component "gateway") -}}
{{- range $index, $volume := fromYamlArray $volumes -}}
{{- $place := ternary (printf "extraVolumes[%d]" $index) (printf "%s.extraVolumes[%d]" $own (sub $index $common)) (lt $index $common) -}}
{{- $name := default "" $volume.name -}}
{{- with and $name (get $names $name) -}}
{{- fail (printf "%s (%s) has the same name as %s. Set another name." $place $name .) -}}
{{- end -}}
{{- $_ := set $names $name $place -}}
{{- end -}}
{{- $volumes -}}
{{- end -}}
{{- end }}

{{/* The container of a component, without its name. Takes the parameters of scopegate.deployment. */}}
{{- define "scopegate.container" -}}
image: {{ .image }}
imagePullPolicy: {{ .root.Values.image.pullPolicy }}
securityContext:
  {{- toYaml .root.Values.containerSecurityContext | nindent 2 }}
{{- with .command }}
command: {{ toJson . }}
{{- end }}
{{- with concat (ternary list .root.Values.extraArgs (eq .component "canary")) .own.extraArgs }}
args: {{ toJson . }}
{{- end }}
ports:
  {{- range $name, $port := .ports }}
  - { name: {{ $name }}, containerPort: {{ $port }}, protocol: TCP }
  {{- end }}
{{- with concat .root.Values.extraEnvFrom .own.extraEnvFrom }}
envFrom:
  {{- include "scopegate.evaluate" (dict "root" $.root "path" "extraEnvFrom" "value" .) | nindent 2 }}
{{- end }}
env:
  - name: SCOPEGATE_CONFIG_DIR
    value: /etc/scopegate/config
  {{- /* Maximum size of the old generation of V8. */}}
  {{- with include "scopegate.memoryMegabytes" (dict "resources" .resources "share" 0.75) }}
  - name: NODE_OPTIONS
    value: --max-old-space-size={{ . }}
  {{- end }}
  {{- with .env }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
  {{- with .root.Values.tracing.headers }}
  {{- if and .existingSecret (ne $.component "canary") }}
  - name: OTEL_EXPORTER_OTLP_HEADERS
    valueFrom: { secretKeyRef: { name: {{ quote .existingSecret }}, key: {{ quote .key }} } }
  {{- end }}
  {{- end }}
  {{- with concat .root.Values.extraEnv .own.extraEnv }}
  {{- include "scopegate.evaluate" (dict "root" $.root "path" "extraEnv" "value" .) | nindent 2 }}
  {{- end }}
startupProbe:
  {{- toYaml .root.Values.startupProbe | nindent 2 }}
livenessProbe:
  {{- toYaml .root.Values.livenessProbe | nindent 2 }}
readinessProbe:
  {{- toYaml .root.Values.readinessProbe | nindent 2 }}
{{- with .root.Values.lifecycle }}
lifecycle:
  {{- toYaml . | nindent 2 }}
{{- end }}
resources:
  {{- toYaml .resources | nindent 2 }}
volumeMounts:
  {{- range .volumes }}
  - {{ omit . "source" | toJson }}
  {{- end }}
  {{- with concat .root.Values.extraVolumeMounts .own.extraVolumeMounts }}
  {{- include "scopegate.evaluate" (dict "root" $.root "path" "extraVolumeMounts" "value" .) | nindent 2 }}
  {{- end }}
{{- end }}

{{/*
The Service of a component. Takes (dict "root" $ "component" name "name" name "service" values "http" number "management" number
"decisions" number or 0 "scheme" text).
*/}}
{{- define "scopegate.service" -}}
apiVersion: v1
kind: Service
metadata:
  {{- include "scopegate.metadata" (merge (dict "annotations" .service.annotations "objectLabels" .service.labels) .) | nindent 2 }}
spec:
  type: {{ .service.type }}
  {{- range $key, $value := omit .service "type" "ports" "nodePort" "annotations" "labels" }}
  {{- with $value }}
  {{ $key }}: {{ toJson . }}
  {{- end }}
  {{- end }}
  selector:
    {{- include "scopegate.selectorLabels" . | nindent 4 }}
  ports:
    - name: http
      port: {{ .http }}
      targetPort: http
      protocol: TCP
      appProtocol: {{ .scheme }}
      {{- with .service.nodePort }}
      nodePort: {{ . }}
      {{- end }}
    # Only inside the cluster.
    {{- if eq .service.type "ClusterIP" }}
    - { name: management, port: {{ .management }}, targetPort: management, protocol: TCP, appProtocol: http }
    {{- with .decisions }}
    {{- $isPlainGrpc := and (eq $.root.Values.decisions.protocol "ext-authz-grpc") (eq $.scheme "http") }}
    - { name: decisions, port: {{ . }}, targetPort: decisions, protocol: TCP, appProtocol: {{ ternary "kubernetes.io/h2c" $.scheme $isPlainGrpc }} }
    {{- end }}
    {{- end }}
{{- end }}

{{/*
The public hosts as a JSON list of (dict "host" name "component" name "service" name "port" number "paths" list). Clients reach the
authorization server through the gateway, unless gateway.enabled is false.
*/}}
{{- define "scopegate.publicRoutes" -}}
{{- $host := (urlParse .Values.gateway.baseUrl).hostname -}}
{{- $issuer := (urlParse (include "scopegate.issuer" .)).hostname -}}
{{- $front := dict "component" "gateway" "service" (include "scopegate.fullname" .) "port" .Values.service.ports.http -}}
{{- $routes := list -}}
{{- if .Values.gateway.enabled -}}
{{- $routes = list (merge (dict "host" $host "paths" (list (dict "path" "/"))) $front) -}}
{{- else -}}
{{- $front = dict "component" "authorization-server" "service" (include "scopegate.authorizationServerName" .) "port" 8081 -}}
{{- end -}}
{{- if and .Values.authorizationServer.enabled (not (and .Values.gateway.enabled (eq $issuer $host))) -}}
{{- $paths := list -}}
{{- range list "/oauth" "/api/oauth" "/.well-known/oauth-authorization-server" "/.well-known/openid-configuration" -}}
{{- $paths = append $paths (dict "path" .) -}}
{{- end -}}
{{- $routes = append $routes (merge (dict "host" $issuer "paths" $paths) $front) -}}
{{- end -}}
{{- toJson $routes -}}
{{- end }}

{{/*
The TCP ports that a component connects to, as a JSON list: the ports of all URLs in its configuration and in its environment.
Takes (dict "root" $ "component" name "own" values "files" list), with the files of scopegate.components.
*/}}
{{- define "scopegate.dialledPorts" -}}
{{- $values := .root.Values -}}
{{- $text := include "scopegate.evaluate" (dict "root" .root "path" "extraEnv" "value" (concat $values.extraEnv .own.extraEnv)) -}}
{{- range $file := .files -}}
{{- $text = printf "%s\n%s" $text (include (printf "%s/%s.yaml" $.root.Template.BasePath $file) $.root) -}}
{{- end -}}
{{- /* These two URLs name Scopegate itself. */ -}}
{{- $text = replace (printf "baseUrl: %s\n" $values.gateway.baseUrl) "" $text -}}
{{- $text = replace (printf "issuer: %s\n" (include "scopegate.issuer" .root)) "" $text -}}
{{- $ports := list -}}
{{- if eq .component "authorization-server" -}}
{{- range concat (default list $values.authorizationServer.clientDocuments.domains) (dig "registration" "clientDocuments" "domains" list $values.authorizationServer.config | default list) -}}
{{- $text = printf "%s\nhttps://%s" $text . -}}
{{- end -}}
{{- end -}}
{{- if or (eq .component "gateway") (eq (include "scopegate.storeType" .root) "redis") -}}
{{- $text = printf "%s\n%s" $text $values.redis.url -}}
{{- range ternary (list $values.redis $values.gatewayRedis) (list $values.redis) (eq .component "gateway") -}}
{{- $addresses := concat (dig "addresses" list (default dict .sentinel)) (dig "addresses" list (default dict .cluster)) -}}
{{- range $addresses }}{{ $ports = append $ports (regexFind "[0-9]+$" . | int) }}{{ end -}}
{{- /* A Secret contains the address, or Redis itself names further nodes. */ -}}
{{- if or .existingSecret $addresses -}}
{{- range $values.networkPolicy.redisPorts }}{{ $ports = append $ports (int .) }}{{ end -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- if and (eq .component "gateway") (include "scopegate.policySidecars" .root | fromYamlArray) -}}
{{- $ports = concat $ports (list 443 6443) -}}
{{- end -}}
{{- if eq .component "gateway" -}}
{{- range $values.policies.sources -}}
{{- with .git -}}
{{- $ports = include "scopegate.gitPort" .url | int | append $ports -}}
{{- $text = include "scopegate.evaluate" (dict "root" $.root "path" "policies.gitSync.extraEnv" "value" $values.policies.gitSync.extraEnv) | printf "%s\n%s" $text -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- $defaults := dict "http" 80 "https" 443 "redis" 6379 "rediss" 6379 "postgres" 5432 "postgresql" 5432 -}}
{{- range regexFindAll "\\b(https?|rediss?|postgres(ql)?)://([^\\s\"'/?#,\\[\\]}]*\\[[0-9A-Fa-f:.]+\\](:[0-9]+)?|[^\\s\"'/?#,\\]}]+)" $text -1 -}}
{{- $ports = append $ports (regexFind ":[0-9]+$" . | trimPrefix ":" | default (get $defaults (regexFind "^[a-z]+" .)) | int) -}}
{{- end -}}
{{- $ports | uniq | toJson -}}
{{- end }}
