import type { CollectionFamily } from './family.ts'
import { choice, day, group, optional, references, state, text, wholeNumber } from './fields.ts'
import type { Document } from './json-schema.ts'

/** Discount codes. Only identified callers can read the codes, because a public code has no value. */
export const coupons: CollectionFamily = {
  kind: 'collection',
  name: 'coupons',
  singular: 'coupon',
  plural: 'coupons',
  about: 'Discount codes for orders.',
  idPrefix: 'cpn',
  writable: true,
  fields: {
    code: { type: 'string', pattern: '^[A-Z0-9]{4,24}$' },
    description: text(200),
    discount: group({
      kind: choice('percent', 'amount'),
      value: { ...wholeNumber(1, 1_000_000), description: 'Percent, or hundredths of the currency unit.' },
    }),
    course_ids: { ...references('courses', 100), description: 'Empty: valid for all products.' },
    redemption_limit: optional(wholeNumber(1, 1_000_000)),
    valid_from: day(),
    valid_until: optional(day()),
    state: state('active', 'disabled'),
  },
  unique: ['code'],
  filters: ['state', 'code'],
  publicView: undefined,
  check: (coupon) => {
    const { kind, value } = coupon['discount'] as Document
    if (kind === 'percent' && Number(value) > 100)
      return { field: 'discount.value', problem: 'must be at most 100 percent' }
    if (coupon['valid_until'] !== null && String(coupon['valid_until']) < String(coupon['valid_from']))
      return { field: 'valid_until', problem: 'must not be before valid_from' }
    return undefined
  },
}
