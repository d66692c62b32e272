import { allowsMethod, type CorsRule } from '../../../policy-engine/load/cors-rule.ts'
import { describeCorsList } from '../../describe-cors.ts'
import type { Detail } from './compare-routes.ts'
import type { Shift } from './compare-scopes.ts'

/**
 * Compares the pages that are allowed to call a route with a method. Returns a detail for each key of `cors` that
 * differs. An additional method, origin or header widens the route.
 */
export function compareCors(
  old: CorsRule | undefined,
  now: CorsRule | undefined,
  method: string,
): readonly Detail[] {
  const [before, after] = [allowsMethod(old, method), allowsMethod(now, method)]
  const compared: readonly (readonly [key: keyof CorsRule, shift: Shift])[] = [
    ['origins', compareLists(old?.origins, now?.origins)],
    ['methods', { gains: after && !before, loses: before && !after }],
    ['headers', compareLists(old?.headers, now?.headers)],
  ]
  return compared.flatMap(([key, shift]) => {
    const [one, other] = [old?.[key], now?.[key]].map((list) => describeCorsList(list?.toSorted())) as [
      string,
      string,
    ]
    return one === other ? [] : [{ what: `cors ${key}`, old: one, now: other, ...shift }]
  })
}

/** An undefined list allows everything. */
function compareLists(old: readonly string[] | undefined, now: readonly string[] | undefined): Shift {
  return { gains: !isWithin(now, old), loses: !isWithin(old, now) }
}

function isWithin(inner: readonly string[] | undefined, outer: readonly string[] | undefined): boolean {
  return outer === undefined || inner?.every((one) => outer.includes(one)) === true
}
