import { join } from 'node:path'
import { type Diagnostic, diagnostic, hasErrors } from '../../platform/diagnostics/diagnostic.ts'
import { displayPath } from '../../platform/diagnostics/display-path.ts'
import { suggest } from '../../platform/diagnostics/schema/suggest.ts'
import { readYamlFile, type YamlDocument } from '../../platform/diagnostics/yaml/yaml-document.ts'
import type { PolicyTest } from '../format/policy-test.ts'
import { checkPolicyTestFile, type PolicyTestFile } from '../format/policy-test-file.ts'
import { readPolicyTests } from './read-policy-tests.ts'

/**
 * Loads separate test files, which refer to a policy by name. Reads small files synchronously.
 * Codes: P205 unknown policy, and the codes of `checkPolicyTestFile()`.
 */
export function loadPolicyTests(
  dir: string,
  { files, policies }: { readonly files: readonly string[]; readonly policies: readonly string[] },
): { tests: readonly PolicyTest[]; diagnostics: readonly Diagnostic[] } {
  const tests: PolicyTest[] = []
  const diagnostics: Diagnostic[] = []
  for (const name of files) {
    const document = readYamlFile(join(dir, name), { shownAs: displayPath(join(dir, name)), letter: 'P' })
    const found = [...document.diagnostics, ...check(document, policies)]
    diagnostics.push(...found)
    if (hasErrors(found)) continue
    const file = document.value as PolicyTestFile
    tests.push(...readPolicyTests(file.tests, { policy: file.policy, document }))
  }
  return { tests, diagnostics }
}

function check(document: YamlDocument, policies: readonly string[]): readonly Diagnostic[] {
  if (document.value === undefined) return []
  const { policy } = (document.value ?? {}) as { policy?: unknown }
  const shape = checkPolicyTestFile(document.value, document.placeOf)
  if (typeof policy !== 'string' || policies.includes(policy)) return shape
  const near = suggest(policy, policies)
  const hint = near === undefined ? `known: ${policies.join(', ')}` : `did you mean "${near}"?`
  const unknown = diagnostic(
    'P205',
    `policy ${JSON.stringify(policy)} does not exist`,
    document.placeOf(['policy']),
    { hint },
  )
  return [...shape, unknown]
}
