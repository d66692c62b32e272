import { type Diagnostic, diagnostic } from '../../platform/diagnostics/diagnostic.ts'
import type { YamlDocument } from '../../platform/diagnostics/yaml/yaml-document.ts'
import { compileGlob } from '../decide/compile-condition.ts'
import { NO_PRESETS, type Presets } from '../format/presets.ts'
import type { SharedLimits } from '../format/shared-limits.ts'
import { type RawRoute, rawRoutes } from '../load/raw-routes.ts'
import { readOperand } from '../load/read-operand.ts'
import { rawConditions } from './check-conditions.ts'

type Raw = Readonly<Record<string, unknown>>

/**
 * Finds contradictory conditions.
 * Codes: P308 conditions or `authentication` on a route that allows requests without a token; P309 conditions on one
 * claim that exclude each other; P321 (a warning) a shared limit by a claim on a route that requires no token. P309 is a
 * warning if a claim that is a list can satisfy both conditions.
 */
export function findContradictions(
  document: YamlDocument,
  presets: Presets = NO_PRESETS,
): readonly Diagnostic[] {
  const { defaults } = (document.value ?? {}) as {
    defaults?: Raw | null
  }
  return rawRoutes(document).flatMap((raw) => {
    const preset = presets.byName.get(String(raw.route['extends'] ?? defaults?.['extends']))
    const settings: Raw = { ...preset, ...defaults, ...raw.route }
    return [
      ...checkAnonymous(raw, settings, document),
      ...checkLimitClaims(raw, settings, document, presets.limits),
      ...checkPairs(raw, document),
    ]
  })
}

/** A route without scopes that serves requests without a token requires no token for any request. */
function checkLimitClaims(
  { route, index }: RawRoute,
  { anonymous = 'allow', scopes, sharedLimits }: Raw,
  document: YamlDocument,
  limits: SharedLimits,
): readonly Diagnostic[] {
  if (anonymous !== 'allow' || scopes !== undefined || !Array.isArray(sharedLimits)) return []
  const at = route['sharedLimits'] === undefined ? 'name' : 'sharedLimits'
  return sharedLimits.flatMap((name: unknown) => {
    const limit = limits.get(String(name))
    if (limit?.claim === undefined) return []
    return [
      diagnostic(
        'P321',
        `limit ${limit.name} counts by the claim ${limit.claim}, but this route requires no token: requests without a token count by address`,
        document.locationOf(['routes', index, at]),
        { severity: 'warning', hint: 'write anonymous: challenge or deny, or use a limit with key: address' },
      ),
    ]
  })
}

function checkAnonymous(raw: RawRoute, settings: Raw, document: YamlDocument): readonly Diagnostic[] {
  if ((settings['anonymous'] ?? 'allow') !== 'allow') return []
  const hint = 'write anonymous: challenge or deny in this route'
  const report = (what: string, at: string) =>
    diagnostic(
      'P308',
      `${what} a token, but anonymous: allow also serves requests without a token`,
      document.locationOf(['routes', raw.index, at], 'key'),
      { hint },
    )
  return [
    ...(Array.isArray(settings['when']) ? [report('conditions need', 'when')] : []),
    ...(settings['authentication'] === undefined
      ? []
      : [
          report(
            'authentication needs',
            raw.route['authentication'] === undefined ? 'name' : 'authentication',
          ),
        ]),
  ]
}

function checkPairs(raw: RawRoute, document: YamlDocument): readonly Diagnostic[] {
  const conditions = rawConditions(raw)
  return conditions.flatMap((condition, index) => {
    for (const [earlier, other] of conditions.slice(0, index).entries()) {
      if (typeof condition['claim'] !== 'string' || condition['claim'] !== other['claim']) continue
      const result = compare(other, condition)
      if (result === 'fine') continue
      const at = (position: number) => document.locationOf(['routes', raw.index, 'when', position])
      const related = [{ message: 'the other condition', location: at(earlier) }]
      return result === 'never'
        ? [
            diagnostic(
              'P309',
              `the conditions on ${condition['claim']} exclude each other, so every request is denied`,
              at(index),
              { hint: 'remove one of the conditions', related },
            ),
          ]
        : [
            diagnostic(
              'P309',
              `the conditions on ${condition['claim']} can hold together only if the claim is a list`,
              at(index),
              { severity: 'warning', hint: 'to allow several values, write in: [...]', related },
            ),
          ]
    }
    return []
  })
}

/**
 * Compares two conditions on one claim. `lists`: only a list can satisfy both conditions. `never`: the conditions
 * exclude each other.
 */
function compare(one: Raw, other: Raw): 'fine' | 'lists' | 'never' {
  const exists = [one['exists'], other['exists']]
  if (exists.includes(false)) return exists[0] === exists[1] ? 'fine' : 'never'
  const [values, others] = [literalsOf(one), literalsOf(other)]
  const [glob, otherGlob] = [globOf(one), globOf(other)]
  const disjoint =
    (values !== undefined && others !== undefined && !values.some((value) => others.includes(value))) ||
    (values !== undefined && otherGlob !== undefined && !values.some(otherGlob)) ||
    (others !== undefined && glob !== undefined && !others.some(glob))
  return disjoint ? 'lists' : 'fine'
}

/**
 * Returns the values of `equals` or `in` if all of them are literals. Otherwise returns undefined, also for an empty
 * list and for other conditions.
 */
function literalsOf(condition: Raw): readonly unknown[] | undefined {
  const wanted = 'equals' in condition ? [condition['equals']] : condition['in']
  if (!Array.isArray(wanted) || wanted.length === 0) return undefined
  return wanted.every((one) => typeof one !== 'string' || typeof readOperand(one) === 'string')
    ? wanted
    : undefined
}

function globOf(condition: Raw): ((value: unknown) => boolean) | undefined {
  const { matches } = condition
  if (typeof matches !== 'string') return undefined
  const holds = compileGlob(matches)
  return (value) => typeof value === 'string' && holds(value)
}
