import { createHash } from 'node:crypto'
import { Lexer } from 'yaml'
import type { Diagnostic } from '../../../platform/diagnostics/diagnostic.ts'
import { parseYaml } from '../../../platform/diagnostics/yaml/yaml-document.ts'
import { checkPolicyFile } from '../../../policy-engine/format/policy-file.ts'
import { policySchema } from '../../../policy-engine/format/policy-schema.ts'
import { checkPolicyTestFile } from '../../../policy-engine/format/policy-test-file.ts'
import { applyLayout } from './layout.ts'

export type FormatResult =
  | { readonly text: string }
  | { readonly problems: readonly Diagnostic[] }
  /** `lost`: the content that formatting would remove. The file stays unchanged. */
  | { readonly lost: string }

const SCHEMAS = { Policy: policySchema('Policy'), PolicyTest: policySchema('PolicyTest') } as const

/**
 * Formats a policy or a test file: keys in the order of the schema, quotes where necessary, an empty line between
 * routes. Keeps comments. Verifies that the result has the same content and comments as the input.
 */
export function formatPolicy(text: string, shownAs: string): FormatResult {
  const source = text.replaceAll('\r\n', '\n')
  const document = parseYaml(source, { shownAs, letter: 'P' })
  if (document.diagnostics.length > 0) return { problems: document.diagnostics }
  const isTest = (document.value as { kind?: unknown } | null)?.kind === 'PolicyTest'
  const problems = (isTest ? checkPolicyTestFile : checkPolicyFile)(document.value, document.locationOf)
  if (problems.length > 0) return { problems }

  const written = applyLayout(source, SCHEMAS[isTest ? 'PolicyTest' : 'Policy'])
  const again = parseYaml(written, { shownAs, letter: 'P' })
  if (again.diagnostics.length > 0 || contentHash(again.value) !== contentHash(document.value))
    return { lost: 'its meaning' }
  if (commentsOf(written) !== commentsOf(source)) return { lost: 'a comment' }
  return { text: written }
}

/** Returns the SHA-256 of the content, independent of layout and key order. */
export function contentHash(value: unknown): string {
  return createHash('sha256')
    .update(JSON.stringify(sorted(value)))
    .digest('hex')
}

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted)
  if (typeof value !== 'object' || value === null) return value
  return Object.entries(value)
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([key, one]) => [key, sorted(one)])
}

/** The lexer writes this character before a plain or block scalar. The scalar may begin with `#`. */
const SCALAR_MARK = '\u001f'

/**
 * Returns all comments in alphabetical order, to compare the comments before and after formatting. The YAML lexer does
 * not read a `#` inside a string as a comment.
 */
function commentsOf(text: string): string {
  const tokens = [...new Lexer().lex(text)]
  const comments = tokens.filter((token, index) => token.startsWith('#') && tokens[index - 1] !== SCALAR_MARK)
  return comments
    .map((comment) => comment.trimEnd())
    .toSorted()
    .join('\n')
}
