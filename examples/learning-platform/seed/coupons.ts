import type { Document } from '../families/json-schema.ts'

export const seedCoupons: readonly Document[] = [
  coupon('SPRING15', 'Fifteen per cent off in spring', 'percent', 15, [], '2026-03-01', '2026-05-31'),
  coupon(
    'FIRSTBOWL',
    'Ten euros off the first pottery course',
    'amount',
    1000,
    ['crs_0001', 'crs_0002'],
    '2026-01-05',
    null,
  ),
  coupon('FRIENDS20', 'Twenty per cent for a friend of a student', 'percent', 20, [], '2026-01-05', null),
  { ...coupon('OPENING', 'Opening week', 'percent', 30, [], '2026-01-05', '2026-01-12'), state: 'disabled' },
]

function coupon(
  code: string,
  description: string,
  kind: 'percent' | 'amount',
  value: number,
  course_ids: readonly string[],
  valid_from: string,
  valid_until: string | null,
): Document {
  const redemption_limit = kind === 'percent' ? 100 : null
  return {
    code,
    description,
    discount: { kind, value },
    course_ids,
    redemption_limit,
    valid_from,
    valid_until,
    state: 'active',
  }
}
