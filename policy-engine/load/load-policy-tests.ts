import { join } from 'node:path'
import {
  type Diagnostic,
  diagnostic,
  hasErrors,
  type SourceLocation,
} from '../../platform/diagnostics/diagnostic.ts'
import { displayPath } from '../../platform/diagnostics/display-path.ts'
import { suggest } from '../../platform/diagnostics/schema/suggest.ts'
import type { TextSource } from '../../platform/diagnostics/yaml/text-source.ts'
import { readYamlFile, type YamlDocument } from '../../platform/diagnostics/yaml/yaml-document.ts'
import type { PolicyTest, TestPart } from '../format/policy-test.ts'
import { checkPolicyTestFile, type PolicyTestEntry, type PolicyTestFile } from '../format/policy-test-file.ts'

/**
 * Loads separate test files, which refer to a policy by name. Reads small files synchronously.
 * Codes: P205 unknown policy, and the codes of `checkPolicyTestFile()`.
 * @param texts contents of files that the caller has read already, by name.
 */
export function loadPolicyTests(
  dir: string,
  {
    files,
    policies,
    texts,
  }: {
    readonly files: readonly string[]
    readonly policies: readonly string[]
    readonly texts?: ReadonlyMap<string, TextSource>
  },
): { tests: readonly PolicyTest[]; diagnostics: readonly Diagnostic[] } {
  const tests: PolicyTest[] = []
  const diagnostics: Diagnostic[] = []
  for (const name of files) {
    const file = join(dir, name)
    const document = readYamlFile(file, { shownAs: displayPath(file), letter: 'P' }, texts?.get(name))
    const found = [...document.diagnostics, ...check(document, policies)]
    diagnostics.push(...found)
    if (hasErrors(found)) continue
    const { policy, tests: entries } = document.value as PolicyTestFile
    tests.push(...readPolicyTests(entries, { policy, document }))
  }
  return { tests, diagnostics }
}

function check(document: YamlDocument, policies: readonly string[]): readonly Diagnostic[] {
  if (document.value === undefined) return []
  const { policy } = (document.value ?? {}) as { policy?: unknown }
  const shape = checkPolicyTestFile(document.value, document.locationOf)
  if (typeof policy !== 'string' || policies.includes(policy)) return shape
  const near = suggest(policy, policies)
  const hint = near === undefined ? `known: ${policies.join(', ')}` : `did you mean "${near}"?`
  const unknown = diagnostic(
    'P205',
    `policy ${JSON.stringify(policy)} does not exist`,
    document.locationOf(['policy']),
    { hint },
  )
  return [...shape, unknown]
}

/** Converts the validated tests of a file to frozen tests. Header names are in lower case. */
export function readPolicyTests(
  entries: readonly PolicyTestEntry[] | undefined,
  options: { readonly policy: string; readonly document: YamlDocument },
): readonly PolicyTest[] {
  const { policy, document } = options
  return (entries ?? []).map(({ it, request, token, expect: expected }, index) => {
    const expect = toExpectation(expected)
    const { file, line, column } = document.locationOf(['tests', index])
    const headers: Record<string, string> = Object.create(null)
    for (const [name, value] of Object.entries(request.headers ?? {})) headers[name.toLowerCase()] = value
    return Object.freeze({
      it,
      policy,
      request: Object.freeze({
        method: request.method,
        path: request.path,
        headers: Object.freeze(headers),
        mode: request.mode,
      }),
      token: token === undefined ? undefined : Object.freeze({ ...token }),
      expect,
      source: Object.freeze({ file, line: line ?? 1, column: column ?? 1 }),
      locations: locate(document, index, { token, ...expect }),
    })
  })
}

/**
 * Copies the locations, because a lazy location keeps a reference to its document. The gateway keeps the tests of its
 * policies.
 */
function locate(
  document: YamlDocument,
  index: number,
  parts: Partial<Record<TestPart, unknown>>,
): PolicyTest['locations'] {
  const locations: Partial<Record<TestPart, SourceLocation>> = {}
  for (const part of PARTS) {
    if (parts[part] === undefined) continue
    const path = part === 'token' ? ['tests', index, part] : ['tests', index, 'expect', part]
    const { file, line, column, length, text } = document.locationOf(path)
    locations[part] = { file, line, column, length, text }
  }
  return locations
}

const PARTS: readonly TestPart[] = [
  'token',
  'decision',
  'as',
  'status',
  'error',
  'missing',
  'route',
  'upstreamPath',
]

/** Drops keys that start with `x-`, which authors may use freely. */
function toExpectation(expect: PolicyTestEntry['expect']): PolicyTest['expect'] {
  const { decision, as, status, error, missing, route, upstreamPath } = expect
  return Object.freeze({ decision, as, status, error, missing, route, upstreamPath })
}
