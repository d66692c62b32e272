import type { Static } from 'typebox'
import { type Diagnostic, diagnostic } from '../../platform/diagnostics/diagnostic.ts'
import { toRecord } from '../../platform/diagnostics/record.ts'
import { Type } from '../../platform/diagnostics/schema/schema-builder.ts'
import { suggest } from '../../platform/diagnostics/schema/suggest.ts'
import { parseDurationMs } from '../../platform/diagnostics/schema/value-formats.ts'
import { WindowText } from '../../platform/diagnostics/schema/value-schemas.ts'
import type { YamlDocument } from '../../platform/diagnostics/yaml/yaml-document.ts'
import type { YamlPath } from '../../platform/diagnostics/yaml/yaml-locations.ts'
import { ClaimName, open, RequestCount } from './common-schemas.ts'

/** The limit of a route has this name in the `RateLimit` fields, so a shared limit cannot have it. */
export const OWN_LIMIT_NAME = 'default'
const NAME_PATTERN = `^(?!${OWN_LIMIT_NAME}$)[a-z][a-z0-9-]{0,62}$`
/** Maximum number of shared limits of a configuration. The names are metric labels. */
const MAX_LIMITS = 100
const MAX_PLANS = 50
/** Maximum number of shared limits of a route. Each limit needs a request to Redis. */
const MAX_LIMITS_OF_ROUTE = 4

/** The key `sharedLimits` of a route, of `defaults` and of a preset. */
export const SharedLimitNames = Type.Array(
  Type.String({
    description: 'A name in sharedLimits of config/presets.yaml.',
    minLength: 1,
    maxLength: 63,
  }),
  {
    description:
      'Limits of config/presets.yaml that all routes with the same name share. They apply in addition to rateLimit. An empty list removes the limits of defaults and of the preset.',
    maxItems: MAX_LIMITS_OF_ROUTE,
    uniqueItems: true,
  },
)

export const SharedLimitEntry = Type.Object(
  {
    requests: Type.Optional(RequestCount),
    plans: Type.Optional(
      Type.Object(
        {
          claim: ClaimName,
          values: Type.Record(Type.String({ pattern: '^.{1,256}$' }), RequestCount, {
            'x-keys': 'a value of the claim, of 1 to 256 characters',
            additionalProperties: false,
            minProperties: 1,
            maxProperties: MAX_PLANS,
            description: 'The number of requests per period, by the value of the claim.',
          }),
          default: RequestCount,
        },
        {
          ...open,
          description:
            'The number of requests by a claim. default applies to requests without a token, and to a missing, unknown or ambiguous value.',
        },
      ),
    ),
    per: WindowText('The length of the period.'),
    key: Type.Optional(
      Type.Enum(['client', 'subject', 'address'], {
        description:
          'The callers that share a count: callers with the same client, subject or address. Requests without a token count by address.',
      }),
    ),
    claim: Type.Optional(ClaimName),
  },
  {
    ...open,
    allOf: [
      { oneOf: [{ required: ['requests'] }, { required: ['plans'] }] },
      { oneOf: [{ required: ['key'] }, { required: ['claim'] }] },
    ],
    description: 'A limit that several routes share.',
  },
)

/** The key `sharedLimits` of `config/presets.yaml`. */
export const SharedLimitEntries = Type.Record(Type.String({ pattern: NAME_PATTERN }), SharedLimitEntry, {
  'x-keys': `a name of 1 to 63 lower-case letters, digits and -, starting with a letter, other than ${OWN_LIMIT_NAME}`,
  additionalProperties: false,
  maxProperties: MAX_LIMITS,
  description: 'all shared limits by name',
})

/** A limit that several routes share. Plain data that JSON can represent. Frozen. */
export type SharedLimit = {
  readonly name: string
  /** With plans, the limit of a caller without a plan. */
  readonly requests: number
  readonly perMs: number
  /** Owner of a counter. */
  readonly key: 'client' | 'subject' | 'address' | 'claim'
  /** The claim whose value owns a counter, with the key `claim`. */
  readonly claim?: string
  readonly plans?: {
    /** The claim whose value is the plan of a caller. */
    readonly claim: string
    readonly values: readonly { readonly plan: string; readonly requests: number }[]
  }
}

export type SharedLimits = ReadonlyMap<string, SharedLimit>

/** Converts validated entries. */
export function toSharedLimits(entries: Static<typeof SharedLimitEntries> | undefined): SharedLimits {
  return new Map(Object.entries(entries ?? {}).map(([name, entry]) => [name, toSharedLimit(name, entry)]))
}

function toSharedLimit(
  name: string,
  { requests, per, key, claim, plans }: Static<typeof SharedLimitEntry>,
): SharedLimit {
  return Object.freeze({
    name,
    requests: plans?.default ?? requests ?? 1,
    perMs: parseDurationMs(per) ?? 0,
    key: key ?? 'claim',
    ...(claim === undefined ? {} : { claim }),
    ...(plans === undefined
      ? {}
      : {
          plans: Object.freeze({
            claim: plans.claim,
            values: Object.freeze(
              Object.entries(plans.values).map(([plan, requests]) => Object.freeze({ plan, requests })),
            ),
          }),
        }),
  })
}

/**
 * Finds plans whose default is higher than the limit of every plan. A caller would get the highest limit without a
 * plan. Code: C365.
 */
export function checkPlans(entries: unknown, document: YamlDocument): readonly Diagnostic[] {
  return Object.entries(toRecord(entries)).flatMap(([name, entry]) => {
    const { values, default: byDefault } = toRecord(toRecord(entry)['plans'])
    const limits = Object.values(toRecord(values)).filter((value) => typeof value === 'number')
    if (typeof byDefault !== 'number' || limits.length === 0) return []
    const highest = Math.max(...limits)
    if (byDefault <= highest) return []
    return [
      diagnostic(
        'C365',
        `the default of sharedLimits.${name}.plans is higher than the limit of every plan`,
        document.locationOf(['sharedLimits', name, 'plans', 'default']),
        { hint: `write at most ${highest}: the default also applies to callers without a plan` },
      ),
    ]
  })
}

/** Finds names of shared limits that do not exist. Code: P207. */
export function checkSharedLimitNames(
  names: unknown,
  path: YamlPath,
  document: YamlDocument,
  known: ReadonlySet<string>,
): readonly Diagnostic[] {
  if (!Array.isArray(names)) return []
  return names.flatMap((name: unknown, position) => {
    if (typeof name !== 'string' || name === '' || known.has(name)) return []
    const near = suggest(name, known)
    const all = known.size === 0 ? 'presets.yaml has no sharedLimits' : `known: ${[...known].join(', ')}`
    return [
      diagnostic(
        'P207',
        `shared limit ${JSON.stringify(name)} is not defined`,
        document.locationOf([...path, position]),
        { hint: near === undefined ? all : `did you mean "${near}"?` },
      ),
    ]
  })
}
