import type { CompiledCondition } from '../../../policy-engine/decide/compile-condition.ts'
import type { CompiledRoute } from '../../../policy-engine/decide/compile-policies.ts'
import type { ClaimValue } from '../../../policy-engine/decide/named-claims.ts'
import type { Condition, Literal, RequestValue } from '../../../policy-engine/load/policy-route.ts'
import type { RequestValues } from '../../../policy-engine/match/request-values.ts'
import type { RepresentativeRequest } from './representative-requests.ts'

export type MatchedRoute = {
  readonly route: CompiledRoute
  readonly params: Readonly<Record<string, string>>
}

/**
 * The sides that one token and one request can satisfy. `oldOnly`: only the conditions of the old side. `nowOnly`: only
 * the conditions of the new side. `both`: the conditions of both sides.
 */
export type Overlap = {
  readonly oldOnly: boolean
  readonly nowOnly: boolean
  readonly both: boolean
  /** Set if the command compared the conditions as text, without values. A reported gain or loss can then be wrong. */
  readonly asWritten?: true
}

type Side = { readonly when: readonly CompiledCondition[]; readonly params: MatchedRoute['params'] }

/** Maximum number of combinations to try. Handwritten conditions need fewer combinations. */
const MAX_TRIED = 50_000
const EQUAL: Overlap = { oldOnly: false, nowOnly: false, both: true }
/** Represents a claim that equals no operand: an object, or a number that no condition contains. */
const INCOMPARABLE: readonly never[] = []
/** Texts that a segment of a canonical path never contains, in any encoding. */
const NO_SEGMENT = /^\.{0,2}$|[/\\\p{Cc}]/u

/**
 * Compares the conditions of two routes for all requests that one request represents. The comparison tries several
 * values for each claim, and for each part of the request in a condition. The values are literals, texts that globs
 * match, a value that no condition contains, and no value. Above `MAX_TRIED` combinations, the function compares the
 * conditions as text. The text comparison finds every gain and loss, but can also report a gain or loss that does not
 * exist.
 * @param findRoutes finds the two routes for another path; undefined when that path matches other routes.
 */
export function compareConditions(
  old: MatchedRoute,
  now: MatchedRoute,
  request: RepresentativeRequest,
  findRoutes: (path: string) => readonly [MatchedRoute, MatchedRoute] | undefined,
): Overlap {
  const sides: readonly [Side, Side] = [sideOf(old), sideOf(now)]
  const [before, after] = sides.map(writtenConditions) as [ReadonlySet<string>, ReadonlySet<string>]
  if (before.symmetricDifference(after).size === 0) return EQUAL
  const written: Overlap = {
    oldOnly: !after.isSubsetOf(before),
    nowOnly: !before.isSubsetOf(after),
    both: true,
    asWritten: true,
  }
  const all = sides.flatMap(({ when }) => when)
  const variables = findVariables(sides, request)
  const texts = textsOf(all, variables)
  const claims = [...new Set(all.map(({ condition }) => condition.claim))]
  const perClaim = texts.length + 2 * all.length + 4
  if ((texts.length + 1) ** variables.length * perClaim ** claims.length > MAX_TRIED) return written

  const found = { oldOnly: false, nowOnly: false, both: false }
  for (const values of combinations(variables.map((one) => domainOf(one, texts)))) {
    const tried = requestWith(request, sides, variables, values, findRoutes)
    if (tried === undefined) continue
    const domains = claims.map((claim) => claimDomain(claim, sides, tried))
    for (const chosen of combinations(domains)) {
      const bag = new Map(claims.map((claim, index) => [claim, chosen[index]]))
      const [one, other] = sides.map(({ when }, index) =>
        when.every(({ holds }) => holds(bag, tried[index] as RequestValues)),
      )
      if (one === true && other === true) found.both = true
      else if (one === true) found.oldOnly = true
      else if (other === true) found.nowOnly = true
    }
    if (found.oldOnly && found.nowOnly && found.both) return found
  }
  return found
}

/**
 * Returns the conditions of a route. Empty for an audit-only route, because the gateway does not enforce its
 * conditions.
 */
function sideOf({ route, params }: MatchedRoute): Side {
  return { when: route.policy.enforce === 'report' ? [] : route.access.when, params }
}

/**
 * Returns conditions as text. Replaces the name of a path parameter with its value, because the name has no effect on
 * the decision.
 */
function writtenConditions({ when, params }: Side): ReadonlySet<string> {
  return new Set(
    when.map(({ condition: { claim, test } }) =>
      JSON.stringify([claim, test], (_key, value: unknown) =>
        isPathValue(value) ? { from: 'path', value: params[value.name] } : value,
      ),
    ),
  )
}

function isPathValue(value: unknown): value is RequestValue {
  return typeof value === 'object' && value !== null && 'from' in value && value.from === 'path'
}

/** A part of the request that a condition compares with a claim. For `path`, `name` is the value of the parameter. */
type Variable = { readonly from: RequestValue['from']; readonly name: string }

function findVariables(sides: readonly [Side, Side], request: RepresentativeRequest): readonly Variable[] {
  const found = new Map<string, Variable>()
  const segments = request.path.split('/')
  for (const { when, params } of sides)
    for (const { condition } of when)
      for (const operand of operandsOf(condition.test)) {
        const { from, name } = operand
        if (from === 'header' && request.headers.some((one) => one.name === name)) continue
        const value = params[name]
        if (from === 'path' && (value === undefined || !segments.includes(value))) continue
        const variable = from === 'path' ? { from, name: value ?? '' } : { from, name }
        found.set(`${from} ${variable.name}`, variable)
      }
  return [...found.values()]
}

function operandsOf(test: CompiledCondition['condition']['test']): readonly RequestValue[] {
  const operands = 'equals' in test ? [test.equals] : 'in' in test ? test.in : []
  return operands.filter((one) => typeof one === 'object')
}

/** Returns the texts that conditions distinguish, and a unique text for each variable. */
function textsOf(all: readonly CompiledCondition[], variables: readonly Variable[]): readonly string[] {
  const values = distinguishingValues(
    all.map(({ condition }) => condition),
    variables.map(({ from, name }) => (from === 'path' ? name : `${OTHER_TEXT}${from}.${name}`)),
  )
  return values.filter((one) => typeof one === 'string')
}

/** Returns the values to try for a part of the request. A path parameter always has a value. */
function domainOf({ from }: Variable, texts: readonly string[]): readonly (string | undefined)[] {
  return from === 'path' ? texts.filter((text) => !NO_SEGMENT.test(text)) : [undefined, ...texts]
}

function claimDomain(
  claim: string,
  sides: readonly [Side, Side],
  tried: readonly [RequestValues, RequestValues],
): readonly (ClaimValue | undefined)[] {
  const own = sides.map(({ when }) => when.filter(({ condition }) => condition.claim === claim))
  const compared = own.flatMap((when, index) =>
    when.flatMap(({ operands }) => operands(tried[index] as RequestValues)),
  )
  const values = distinguishingValues(
    own.flat().map(({ condition }) => condition),
    compared.filter((one) => typeof one === 'string'),
  )
  // A list satisfies a condition when one of its members satisfies the condition. Additional members never make a list
  // fail. Assume that a list fails condition A and satisfies other conditions. Then the longest list that fails A
  // satisfies these other conditions too. So the longest failing list of each condition is enough.
  const lists = own.flatMap((when, index) =>
    when.map(({ holds }) =>
      values.filter((value) => !holds(new Map([[claim, value]]), tried[index] as RequestValues)),
    ),
  )
  return [undefined, INCOMPARABLE, ...values, values, ...lists]
}

function requestWith(
  request: RepresentativeRequest,
  sides: readonly [Side, Side],
  variables: readonly Variable[],
  values: readonly (string | undefined)[],
  findRoutes: (path: string) => readonly [MatchedRoute, MatchedRoute] | undefined,
): readonly [RequestValues, RequestValues] | undefined {
  const chosen = (from: Variable['from']) =>
    new Map(
      variables.flatMap((one, index) => (one.from === from ? [[one.name, values[index]] as const] : [])),
    )
  const [paths, headers, queries] = [chosen('path'), chosen('header'), chosen('query')]
  const path = request.path
    .split('/')
    .map((segment) => encodeURIComponent(paths.get(segment) ?? '') || segment)
    .join('/')
  const matched = path === request.path ? undefined : findRoutes(path)
  if (path !== request.path && matched === undefined) return undefined
  const pairs = [...queries].flatMap(([name, value]) =>
    value === undefined ? [] : [`${encodeURIComponent(name)}=${encodeURIComponent(value)}`],
  )
  const fixed = new Map(request.headers.map(({ name, value }) => [name, value]))
  const requestParts = {
    query: pairs.length === 0 ? '' : `?${pairs.join('&')}`,
    header: (name: string) => headers.get(name) ?? fixed.get(name),
  }
  return [
    { ...requestParts, params: matched?.[0].params ?? sides[0].params },
    { ...requestParts, params: matched?.[1].params ?? sides[1].params },
  ]
}

function* combinations<T>(lists: readonly (readonly T[])[]): Generator<readonly T[]> {
  const [first, ...rest] = lists
  if (first === undefined) {
    yield []
    return
  }
  for (const others of combinations(rest)) for (const one of first) yield [one, ...others]
}

/**
 * A text that policies are not expected to contain. This text represents all values that the conditions do not name.
 */
const OTHER_TEXT = '\u2603'

/**
 * Returns values of a claim that distinguish conditions: all literals, texts that globs match alone and together, and
 * one other value.
 * @param texts values of the request that conditions compare with the claim.
 */
function distinguishingValues(
  conditions: readonly Condition[],
  texts: readonly string[],
): readonly Literal[] {
  const values = new Set<Literal>([OTHER_TEXT, ...texts])
  const globs: string[] = []
  for (const { test } of conditions) {
    if ('equals' in test && typeof test.equals !== 'object') values.add(test.equals)
    if ('in' in test) for (const one of test.in) if (typeof one !== 'object') values.add(one)
    if ('matches' in test) globs.push(test.matches)
  }
  for (const glob of globs) {
    values.add(glob.replaceAll('*', ''))
    // In this text, only a `*` of the glob can match `OTHER_TEXT`. If another glob matches this text, the other glob
    // also matches everything that this glob matches.
    values.add(glob.replaceAll('*', OTHER_TEXT))
    for (const other of globs) values.add(glob.replaceAll('*', other.replaceAll('*', '')))
  }
  return [...values]
}
