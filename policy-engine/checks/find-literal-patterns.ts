import { type Diagnostic, diagnostic, type Severity } from '../../platform/diagnostics/diagnostic.ts'
import { toRecord } from '../../platform/diagnostics/record.ts'
import type { YamlDocument } from '../../platform/diagnostics/yaml/yaml-document.ts'
import type { YamlPath } from '../../platform/diagnostics/yaml/yaml-locations.ts'
import { type RawRoute, rawRoutes } from '../load/raw-routes.ts'
import { readOperand } from '../load/read-operand.ts'
import { rawConditions } from './check-conditions.ts'

type Problem = { readonly text: string; readonly hint: string; readonly severity?: Severity }
type Found = Problem & { readonly at: YamlPath }

const NO_EXPRESSIONS = 'regular expressions are not supported'
const REQUEST_VALUES = '{path.name}, {header.name} or {query.name}'
/** Headers in which a literal `*` can be a valid value. RFC 9110 sections 12.5 and 13.1. */
const WITH_STARS = /^(?:accept(?:-.+)?|if-.+)$/

/**
 * Finds literal texts that look like templates, globs or regular expressions.
 * The gateway compares or sends such a text literally, but the author probably expects a pattern. Code: P111, a
 * warning. P111 is a note if the author may intend the literal text.
 */
export function findLiteralPatterns(document: YamlDocument): readonly Diagnostic[] {
  const { defaults } = (document.value ?? {}) as { defaults?: unknown }
  const found = [
    ...inChanges(toRecord(defaults)['headers'], ['defaults', 'headers']),
    ...rawRoutes(document).flatMap((raw) => [
      ...inMatch(raw),
      ...inConditions(raw),
      ...inChanges(raw.route['headers'], ['routes', raw.index, 'headers']),
    ]),
  ]
  return found.map(({ text, hint, severity = 'warning', at }) =>
    diagnostic('P111', text, document.locationOf(at), { severity, hint }),
  )
}

function inMatch({ route, index }: RawRoute): readonly Found[] {
  const { path, headers } = toRecord(route['match'])
  const at: YamlPath = ['routes', index, 'match']
  const problem = typeof path === 'string' ? inPath(path) : undefined
  const target = toRecord(route['rewrite'])['path']
  const numbered = typeof target === 'string' ? /\$\d/.exec(target)?.[0] : undefined
  return [
    ...(problem === undefined ? [] : [{ ...problem, at: [...at, 'path'] }]),
    ...(numbered === undefined
      ? []
      : [
          {
            text: `${numbered} in a path is literal text`,
            hint: 'use a parameter of match.path: {name}',
            at: ['routes', index, 'rewrite', 'path'],
          },
        ]),
    ...texts(headers).flatMap(([name, written]) => {
      const pattern = detectPattern(written)
      if (pattern === undefined || (pattern === 'wildcard' && WITH_STARS.test(name.toLowerCase()))) return []
      return [
        {
          text: `the header must be exactly ${JSON.stringify(written)}`,
          hint: 'write the exact value, with one route per value',
          at: [...at, 'headers', name],
        },
      ]
    }),
  ]
}

/** Ignores braces, asterisks and colons, because P108 reports these characters. */
function inPath(path: string): Problem | undefined {
  const part = path.split('/').find((segment) => /^\(.*\)$|\.\+/.test(segment))
  if (part === undefined || path.includes('{{')) return undefined
  return {
    text: `"${part}" in a path is literal text`,
    hint: `${NO_EXPRESSIONS}: write {name} for any segment`,
  }
}

function inConditions(raw: RawRoute): readonly Found[] {
  return rawConditions(raw).flatMap((condition, position): readonly Found[] => {
    const at: YamlPath = ['routes', raw.index, 'when', position]
    const { claim, equals, matches } = condition
    const listed = Array.isArray(condition['in']) ? condition['in'] : []
    const values = [{ value: equals, at: [...at, 'equals'] }].concat(
      listed.map((value: unknown, index) => ({ value, at: [...at, 'in', index] })),
    )
    const problems = [
      { problem: typeof claim === 'string' ? inClaim(claim) : undefined, at: [...at, 'claim'] },
      ...values.map((one) => ({ problem: inValue(one.value, parametersOf(raw)), at: one.at })),
      { problem: typeof matches === 'string' ? inGlob(matches) : undefined, at: [...at, 'matches'] },
    ]
    return problems.flatMap((one) => (one.problem === undefined ? [] : [{ ...one.problem, at: one.at }]))
  })
}

function inClaim(claim: string): Problem | undefined {
  const text = `the token must have a claim named ${JSON.stringify(claim)}`
  const inner = /^(?:\$\.?|\$?\{+(?:(?:token|claims?|jwt)\.)?)([\w.-]+)\}*$/.exec(claim)?.[1]
  if (inner !== undefined) return { text, hint: `write ${pointer(inner)}` }
  return /^[A-Za-z_][\w-]*(?:\.[A-Za-z_][\w-]*)+$/.test(claim)
    ? { text, hint: `for a nested claim, write ${pointer(claim)}`, severity: 'note' }
    : undefined
}

/** Converts a dotted name to a JSON pointer. RFC 6901. */
function pointer(dotted: string): string {
  return dotted.includes('.') ? `/${dotted.replaceAll('.', '/')}` : dotted
}

function inValue(value: unknown, parameters: readonly string[]): Problem | undefined {
  const operand = typeof value === 'string' ? readOperand(value) : undefined
  if (typeof operand !== 'string') return undefined
  const pattern = detectPattern(operand)
  if (pattern === undefined) return undefined
  const text = `the claim must be exactly ${JSON.stringify(operand)}`
  switch (pattern) {
    case 'template': {
      const name = /^\$?\{*\s*([\w-]+)\s*\}*$/.exec(operand)?.[1]
      if (name !== undefined && parameters.includes(name)) return { text, hint: `write "{path.${name}}"` }
      return { text, hint: `for a request value, write only ${REQUEST_VALUES}` }
    }
    case 'regular expression':
      return { text, hint: `${NO_EXPRESSIONS}: write matches with *, or in with all values` }
    case 'wildcard':
      return {
        text,
        hint:
          operand === '*'
            ? 'for any value, write exists: true'
            : `to match this pattern, write matches: ${JSON.stringify(operand)}`,
        severity: 'note',
      }
  }
}

function parametersOf({ route }: RawRoute): readonly string[] {
  const { path } = toRecord(route['match'])
  return typeof path === 'string' ? [...path.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => name) : []
}

function inGlob(glob: string): Problem | undefined {
  // Only literal globs need this check. P110 reports invalid references to request values.
  if (typeof readOperand(glob) !== 'string') return undefined
  const pattern = detectPattern(glob)
  if (pattern === undefined || pattern === 'wildcard') return undefined
  const text = `in ${JSON.stringify(glob)} only * is a wildcard`
  return pattern === 'template'
    ? { text, hint: `to compare a claim with a request value, write equals with ${REQUEST_VALUES}` }
    : { text, hint: `${NO_EXPRESSIONS}: * matches any number of characters` }
}

function inChanges(rules: unknown, at: YamlPath): readonly Found[] {
  return ['request', 'response'].flatMap((direction) =>
    ['set', 'add'].flatMap((key) =>
      texts(toRecord(toRecord(rules)[direction])[key]).flatMap(([name, written]) => {
        if (detectPattern(written) !== 'template') return []
        return [
          {
            text: `the header gets the literal text ${JSON.stringify(written)}`,
            hint: 'write the value. The gateway sends the caller in x-auth-subject, x-auth-client-id and x-auth-scope',
            at: [...at, direction, key, name],
          },
        ]
      }),
    ),
  )
}

function texts(values: unknown): readonly (readonly [string, string])[] {
  return Object.entries(toRecord(values)).flatMap(([name, value]) =>
    typeof value === 'string' ? [[name, value] as const] : [],
  )
}

type DetectedPattern = 'template' | 'regular expression' | 'wildcard'

/** Matches `${x}`, `{{x}}`, `{x}`, or a whole text such as `$http_x_school`. */
const TEMPLATE = /\$\{|\{\{|\{[A-Za-z_][\w.-]*\}|^\$[A-Za-z_][\w.]*$/
/** Matches for example `/x/`, `^x`, `[a-z]`, `(a|b)`, `.+`, `\d+`, `\.`, and `.*` at the beginning. */
const EXPRESSION = /^\/[^/]+\/$|^\^.|\[\^?\w-\w|\([^()|]*\|[^()]*\)|\.\+|\\[dDwWsS][+*{]|\\\.|^\.\*/
const DELIMITED = /^\/(.+)\/[gimsuy]{0,6}$/
const SIGNS = /[\\^|()[\]+*?]/
/** Maximum length of a checked text. Other checks report longer texts. Characters. */
const MAX_LENGTH = 1024

/**
 * Detects texts that look like a template, a regular expression or a wildcard. Pure. Runs in linear time.
 * Backslashes and slashes alone do not make a pattern: `CORP\dana` is an account, and `/staff/editors` is a group.
 * @returns undefined for plain text.
 */
export function detectPattern(text: string): DetectedPattern | undefined {
  if (text.length > MAX_LENGTH) return undefined
  if (TEMPLATE.test(text)) return 'template'
  const [, between = ''] = DELIMITED.exec(text) ?? []
  const isExpression =
    EXPRESSION.test(text) || SIGNS.test(between) || (text.endsWith('$') && SIGNS.test(text))
  if (isExpression) return 'regular expression'
  return text.includes('*') ? 'wildcard' : undefined
}
