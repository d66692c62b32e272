import { isRecord } from '../../platform/diagnostics/record.ts'

/** The requirements of an operation, in the form of a route. */
export type OperationAccess = {
  readonly scopes: { readonly all?: readonly string[]; readonly any?: readonly string[] } | undefined
  readonly anonymous: 'allow' | 'challenge'
  /** True when neither the operation nor the document has `security`. */
  readonly isUndeclared: boolean
  /** Alternatives of the contract whose scopes the route does not accept. */
  readonly unused: readonly UnusedAlternative[]
}

/** A skipped alternative. `at` is its path in the security list. */
export type UnusedAlternative = {
  readonly scheme: string
  readonly scopes: readonly string[]
  readonly reason: string
  /** True when `--scheme` can select the alternative. The hint then names `--scheme`. */
  readonly canBeChosen: boolean
  readonly at: readonly (string | number)[]
}

export type SecurityChoices = {
  /**
   * Scheme to select. If an operation has alternatives with this scheme, alternatives with other schemes are not used.
   * Undefined: alternatives with all schemes are used.
   */
  readonly scheme?: string | undefined
  readonly rename?: (scope: string) => string
}

/** One requirement with a single scheme. */
type Alternative = { readonly scheme: string; readonly scopes: readonly string[]; readonly index: number }

/** The reason why a route cannot express a list of security requirements. `at` is the path of the obstacle. */
export type SecurityProblem = {
  readonly problem: string
  readonly hint: string
  readonly at: readonly (string | number)[]
}

const TOKEN_SCHEMES = ['oauth2', 'openIdConnect']

/**
 * Converts a list of alternative security requirements to scopes and an anonymous rule.
 *
 * Every alternative is a set of scopes. The scopes that all alternatives share become `all`. When each alternative has
 * exactly one further scope, these scopes become `any`. An alternative is redundant when another alternative requires a
 * subset of its scopes. Every other list is an error, because a policy cannot express such a list. Source: OpenAPI 3.1
 * section 4.8.30. Pure.
 */
export function readSecurity(
  security: unknown,
  schemeOf: (name: string) => unknown,
  { scheme: chosen, rename = (scope) => scope }: SecurityChoices = {},
): OperationAccess | SecurityProblem {
  // An undeclared requirement does not mean public access. `security: []` declares public access.
  if (security === undefined)
    return { scopes: undefined, anonymous: 'challenge', isUndeclared: true, unused: [] }
  if (!Array.isArray(security)) return problem('security must be a list', 'write [{ … }]')
  const alternatives: Alternative[] = []
  const unused: UnusedAlternative[] = []
  const isChosen = (one: unknown) => isRecord(one) && chosen !== undefined && Object.hasOwn(one, chosen)
  const hasChosen = security.some(isChosen)
  let withoutToken = security.length === 0
  for (const [index, requirement] of security.entries()) {
    if (!isRecord(requirement))
      return problem('this is not a security requirement', 'write { scheme: [scopes] }', [index])
    const entries = Object.entries(requirement)
    if (hasChosen && entries.length > 0 && !isChosen(requirement)) {
      for (const [scheme, scopes] of entries)
        unused.push({
          scheme,
          scopes: Array.isArray(scopes) ? scopes.map(String) : [],
          reason: `--scheme selects ${chosen}`,
          canBeChosen: false,
          at: [index, scheme],
        })
      continue
    }
    if (entries.length > 1) {
      const names = entries.map(([name]) => name).join(' and ')
      return problem(`${names} are required together, but a route requires one token`, OVERRIDE_HINT, [index])
    }
    const [entry] = entries
    if (entry === undefined) {
      withoutToken = true
      continue
    }
    const [name, scopes] = entry
    const at = [index, name]
    if (!Array.isArray(scopes) || scopes.some((one) => typeof one !== 'string'))
      return problem('this is not a list of scopes', 'write [] if no scope is required', at)
    const rejected = explainUnsupportedScheme(name, schemeOf(name), scopes.length)
    if (rejected !== undefined) return problem(rejected, OVERRIDE_HINT, at)
    alternatives.push({ scheme: name, scopes: [...new Set((scopes as string[]).map(rename))], index })
  }
  const anonymous = withoutToken ? 'allow' : 'challenge'
  const needed = withoutSuperfluous(alternatives.map(({ scopes }) => scopes))
  unused.push(...findDropped(alternatives, needed))
  const access = { anonymous, isUndeclared: false, unused } as const
  const [first = []] = needed
  const all = first.filter((scope) => needed.every((one) => one.includes(scope)))
  const rest = needed.map((one) => one.filter((scope) => !all.includes(scope)))
  if (needed.length > 1 && rest.some((one) => one.length > 1)) {
    const index = rest.findIndex((one) => one.length > 1)
    const words = rest.map((one) => one.join(' and ')).join(', or ')
    return problem(
      `a route cannot require ${words}: each alternative of { any: […] } is one scope`,
      OVERRIDE_HINT,
      [security.findIndex((one) => isRecord(one) && sameScopes(Object.values(one)[0], needed[index]))],
    )
  }
  const any = needed.length > 1 ? rest.flat() : []
  if (all.length === 0 && any.length === 0) return { scopes: undefined, ...access }
  return {
    scopes: { ...(all.length > 0 ? { all } : {}), ...(any.length > 0 ? { any } : {}) },
    ...access,
  }
}

/**
 * Returns the alternatives that are redundant because another alternative requires fewer scopes. Skips duplicates of an
 * alternative.
 */
function findDropped(
  alternatives: readonly Alternative[],
  needed: readonly (readonly string[])[],
): readonly UnusedAlternative[] {
  return alternatives.flatMap(({ scheme, scopes, index }) => {
    if (needed.some((one) => one.length === scopes.length && one.every((scope) => scopes.includes(scope))))
      return []
    const less = alternatives.find(
      (one) =>
        needed.includes(one.scopes) &&
        one.scopes.length < scopes.length &&
        one.scopes.every((scope) => scopes.includes(scope)),
    )
    const canBeChosen = less !== undefined && less.scheme !== scheme
    return [
      {
        scheme,
        scopes,
        reason: `${less?.scheme ?? 'another one'} requires less`,
        canBeChosen,
        at: [index, scheme],
      },
    ]
  })
}

const OVERRIDE_HINT = 'set the access: x-scopegate: { anonymous: …, scopes: { … } }'

function problem(text: string, hint: string, at: SecurityProblem['at'] = []): SecurityProblem {
  return { problem: text, hint, at }
}

function explainUnsupportedScheme(name: string, scheme: unknown, scopes: number): string | undefined {
  if (!isRecord(scheme)) return `components.securitySchemes has no scheme ${JSON.stringify(name)}`
  const { type, scheme: kind } = scheme
  if (typeof type === 'string' && TOKEN_SCHEMES.includes(type)) return undefined
  const isBearer = type === 'http' && typeof kind === 'string' && kind.toLowerCase() === 'bearer'
  if (!isBearer) {
    const what = type === 'http' ? `http ${String(kind)}` : String(type)
    return `${JSON.stringify(name)} has the type ${what}, but routes validate access tokens`
  }
  // In OpenAPI 3.1, the list of a bearer scheme contains roles. OpenAPI does not define which claim of a token contains
  // the roles.
  return scopes > 0
    ? `${JSON.stringify(name)} has the type http bearer: its list contains roles, not scopes`
    : undefined
}

/** Removes alternatives that contain all scopes of another alternative. */
function withoutSuperfluous(alternatives: readonly (readonly string[])[]): readonly (readonly string[])[] {
  const isPart = (a: readonly string[], b: readonly string[]) => a.every((scope) => b.includes(scope))
  return alternatives.filter(
    (one, index) =>
      !alternatives.some(
        (other, position) =>
          position !== index && isPart(other, one) && (other.length < one.length || position < index),
      ),
  )
}

function sameScopes(a: unknown, b: readonly string[] | undefined): boolean {
  return Array.isArray(a) && b !== undefined && a.length >= b.length && b.every((scope) => a.includes(scope))
}
