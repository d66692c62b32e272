import type { YamlDocument } from '../../platform/diagnostics/yaml/yaml-document.ts'
import type { PolicyTest } from '../format/policy-test.ts'
import type { PolicyTestEntry } from '../format/policy-test-entry.ts'

/** Converts the validated tests of a file to frozen tests. Header names are in lower case. */
export function readPolicyTests(
  entries: readonly PolicyTestEntry[] | undefined,
  options: { readonly policy: string; readonly document: YamlDocument },
): readonly PolicyTest[] {
  const { policy, document } = options
  return (entries ?? []).map(({ it, request, token, expect }, index) => {
    const { file, line, column } = document.placeOf(['tests', index])
    const headers: Record<string, string> = Object.create(null)
    for (const [name, value] of Object.entries(request.headers ?? {})) headers[name.toLowerCase()] = value
    return Object.freeze({
      it,
      policy,
      request: Object.freeze({ method: request.method, path: request.path, headers: Object.freeze(headers) }),
      token: token === undefined ? undefined : Object.freeze({ ...token }),
      expect: toExpectation(expect),
      source: Object.freeze({ file, line: line ?? 1, column: column ?? 1 }),
      placeOf: (what) =>
        document.placeOf(['tests', index, ...(what === 'token' ? [what] : ['expect', what])]),
    })
  })
}

/** Drops keys that start with `x-`, which authors may use freely. */
function toExpectation(expect: PolicyTestEntry['expect']): PolicyTest['expect'] {
  const { decision, as, status, error, missing, route, upstreamPath } = expect
  return Object.freeze({ decision, as, status, error, missing, route, upstreamPath })
}
