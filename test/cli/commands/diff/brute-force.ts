import { comparePolicies } from '../../../../cli/commands/diff/compare-policies.ts'
import type { Caller } from '../../../../policy-engine/decide/caller.ts'
import type { CompiledPolicies } from '../../../../policy-engine/decide/compile-policies.ts'
import { decide } from '../../../../policy-engine/decide/decide.ts'
import type { ClaimValue } from '../../../../policy-engine/decide/named-claims.ts'
import { type CleanHeaders, cleanHeaders } from '../../../../policy-engine/match/clean-headers.ts'
import { aCaller } from '../../../fixtures/a-caller.ts'

/** The values of generated requests and tokens. */
export type Alphabet = {
  readonly segments: readonly string[]
  readonly depth: number
  readonly methods: readonly string[]
  readonly scopes: readonly string[]
  readonly headers: Readonly<Record<string, readonly (string | undefined)[]>>
  readonly claims: Readonly<Record<string, readonly (ClaimValue | undefined)[]>>
}

/**
 * Key: the route of the old and of the new policies that match the same request, or `-` without a match. Value: whether
 * any caller gains or loses access.
 */
type Outcome = ReadonlyMap<string, { readonly gains: boolean; readonly loses: boolean }>

/**
 * Decides every request of an alphabet with every token and without a token, for the old and the new policies. Returns
 * the differences.
 */
function bruteForce(old: CompiledPolicies, now: CompiledPolicies, alphabet: Alphabet): Outcome {
  const found = new Map<string, { gains: boolean; loses: boolean }>()
  const callers: (Caller | undefined)[] = [undefined]
  const plainCallers: (Caller | undefined)[] = [undefined]
  for (const held of subsets(alphabet.scopes)) {
    plainCallers.push(aCaller({ scopes: new Set(held) }))
    for (const claims of records(alphabet.claims))
      callers.push(aCaller({ scopes: new Set(held), claims: new Map(Object.entries(claims)) }))
  }
  const headerSets = [...records(alphabet.headers)].map(toCleanHeaders)
  for (const path of paths(alphabet))
    for (const method of alphabet.methods)
      for (const headers of headerSets) {
        const routes = [old, now].map((side) => {
          const match = side.match(method, path, headers)
          return match.kind === 'route' ? match.route.policy : undefined
        })
        const names = routes.map((one) => one?.name ?? '-')
        if (names[0] === '-' && names[1] === '-') continue
        const key = names.join(' ')
        const hasConditions = routes.some((one) => (one?.when.length ?? 0) > 0)
        // Without conditions, the result depends only on the two routes. One request for each pair of routes is then
        // sufficient.
        if (!hasConditions && found.has(key)) continue
        const outcome = found.get(key) ?? { gains: false, loses: false }
        found.set(key, outcome)
        if (names.includes('-') || (outcome.gains && outcome.loses)) continue
        const request = { method, canonical: { path, query: '', headers }, nowSeconds: 0, limits: LIMITS }
        for (const caller of hasConditions ? callers : plainCallers) {
          const [before, after] = [old, now].map((side) => passes(decide(request, () => caller, side)))
          if (after === true && before === false) outcome.gains = true
          if (before === true && after === false) outcome.loses = true
        }
      }
  return found
}

const LIMITS = { targetBytes: 8_192, tokenBytes: 8_192, bodyBytes: 8_192 }

function toCleanHeaders(headers: Readonly<Record<string, string | undefined>>): CleanHeaders {
  const raw = Object.entries(headers).flatMap(([name, value]) => (value === undefined ? [] : [name, value]))
  const clean = cleanHeaders(['host', 'api.test', ...raw], '1.1')
  if ('rejected' in clean) throw new Error(clean.rejected)
  return clean
}

/**
 * Returns the access changes that `diff` reports, and the access changes that brute force finds. Both lists have the
 * same format.
 */
export function toldAndTried(old: CompiledPolicies, now: CompiledPolicies, alphabet: Alphabet) {
  const { changes } = comparePolicies(
    { policies: old, resourcePaths: [] },
    { policies: now, resourcePaths: [] },
  )
  const told = changes
    .filter(({ kind, widened, narrowed }) => kind !== 'changed' || widened || narrowed)
    .map(
      (one) => [`${one.old ?? '-'} ${one.now ?? '-'}`, { gains: one.widened, loses: one.narrowed }] as const,
    )
  const tried = [...bruteForce(old, now, alphabet)].filter(
    ([key, { gains, loses }]) => gains || loses || key.split(' ').includes('-'),
  )
  return { changes, told: new Map(told), tried: new Map(tried) }
}

const REPORTED = ['token_missing', 'authentication_insufficient', 'scope_missing', 'condition_failed']

function passes({ outcome, rejection, route }: ReturnType<typeof decide>): boolean {
  const isAuditOnly = route?.policy.enforce === 'report' && REPORTED.includes(rejection?.rejected ?? '')
  return outcome === 'allow' || isAuditOnly
}

function* paths({ segments, depth }: Alphabet): Generator<string> {
  yield '/'
  let shorter = ['']
  for (let length = 1; length <= depth; length++) {
    const longer = shorter.flatMap((path) => segments.map((segment) => `${path}/${segment}`))
    yield* longer
    for (const path of longer) yield `${path}/`
    shorter = longer
  }
}

function* subsets(scopes: readonly string[]): Generator<readonly string[]> {
  for (let bits = 0; bits < 2 ** scopes.length; bits++) yield scopes.filter((_, index) => (bits >> index) & 1)
}

function* records<T>(
  domains: Readonly<Record<string, readonly T[]>>,
): Generator<Readonly<Record<string, T>>> {
  const [first, ...rest] = Object.entries(domains)
  if (first === undefined) {
    yield {}
    return
  }
  for (const others of records(Object.fromEntries(rest)))
    for (const value of first[1]) yield { ...others, [first[0]]: value }
}
