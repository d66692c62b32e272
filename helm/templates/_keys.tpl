{{- /*
Rejects keys that the schema does not allow, required keys without a value, and values that do not match a pattern with a description. Takes the schema and the value of an object, and the path of its keys.
complete: whether values.yaml contains the object, so that each key has a default value.
*/ -}}
{{- define "scopegate.checkKeys" -}}
{{- $schema := .schema }}
{{- $keys := default dict $schema.properties }}
{{- $other := index $schema "additionalProperties" }}
{{- range $key := $schema.required }}
{{- if not (hasKey $.value $key) }}
{{- fail (printf "%s%s %s" $.prefix $key (ternary "is null. Remove this line to use the default value, or set a value. With helm upgrade, use --reset-then-reuse-values instead of --reuse-values." "is missing. Set a value." $.complete)) }}
{{- end }}
{{- end }}
{{- range $key, $value := .value }}
{{- $path := printf "%s%s" $.prefix $key }}
{{- with $schema.propertyNames }}
{{- if or (has $key (dig "not" "enum" list .)) (not (regexMatch (default "" .pattern) $key)) }}
{{- fail (printf "%s must not contain the key %q. %s" (trimSuffix "." $.prefix) $key .description) }}
{{- end }}
{{- end }}
{{- $child := get $keys $key }}
{{- if not (hasKey $keys $key) }}
{{- if and (hasKey $schema "additionalProperties") (kindIs "bool" $other) }}
{{- fail (printf "%s is not a value of this chart. %s" $path (include "scopegate.keyAdvice" (dict "schema" $schema "key" $key "prefix" $.prefix))) }}
{{- end }}
{{- $child = $other }}
{{- end }}
{{- include "scopegate.checkPattern" (dict "schema" $child "value" $value "path" $path) }}
{{- if and (kindIs "map" $child) (kindIs "map" $value) }}
{{- include "scopegate.checkKeys" (dict "schema" $child "value" $value "prefix" (printf "%s." $path) "complete" (and $.complete (hasKey $keys $key))) }}
{{- else if and (kindIs "map" $child) (kindIs "slice" $value) }}
{{- range $index, $item := $value }}
{{- include "scopegate.checkPattern" (dict "schema" $child.items "value" $item "path" (printf "%s[%d]" $path $index)) }}
{{- if and (hasKey $child "items") (kindIs "map" $item) }}
{{- include "scopegate.checkKeys" (dict "schema" $child.items "value" $item "prefix" (printf "%s[%d]." $path $index) "complete" false) }}
{{- end }}
{{- end }}
{{- end }}
{{- end }}
{{- end -}}

{{- /* The message does not contain the value, because a URL can contain a password. Takes (dict "schema" map "value" value "path" path). */ -}}
{{- define "scopegate.checkPattern" -}}
{{- if and (kindIs "map" .schema) (kindIs "string" .value) }}
{{- with .schema }}
{{- if and .pattern .description (not (regexMatch .pattern $.value)) }}
{{- fail (printf "%s must be %s." $.path .description) }}
{{- end }}
{{- end }}
{{- end }}
{{- end -}}

{{- /* Names the key that shares the largest part of its letter pairs with an unknown key, or all keys. */ -}}
{{- define "scopegate.keyAdvice" -}}
{{- $wanted := include "scopegate.letterPairs" .key | fromJsonArray }}
{{- $names := list }}
{{- $best := .key }}
{{- $bestShare := 49 }}
{{- range $name, $schema := .schema.properties }}
{{- if not $schema.deprecated }}
{{- $names = append $names $name }}
{{- $pairs := include "scopegate.letterPairs" $name | fromJsonArray }}
{{- $shared := list }}
{{- range $pairs }}
{{- if has . $wanted }}{{ $shared = append $shared . }}{{ end }}
{{- end }}
{{- $share := div (mul 200 (len $shared)) (add (len $pairs) (len $wanted)) }}
{{- if gt $share $bestShare }}
{{- $best = $name }}
{{- $bestShare = $share }}
{{- end }}
{{- end }}
{{- end }}
{{- if ne $best .key }}Did you mean {{ .prefix }}{{ $best }}?
{{- else }}The keys here are {{ join ", " $names }}.
{{- end }}
{{- end -}}

{{- /* Returns the different pairs of adjacent letters of a key, in lower case, as JSON. */ -}}
{{- define "scopegate.letterPairs" -}}
{{- $letters := splitList "" (lower .) }}
{{- $pairs := list }}
{{- range $index, $letter := rest $letters }}
{{- $pairs = append $pairs (printf "%s%s" (index $letters $index) $letter) }}
{{- end }}
{{- $pairs | uniq | toJson }}
{{- end -}}
