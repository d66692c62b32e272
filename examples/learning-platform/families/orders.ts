import type { CollectionFamily } from './family.ts'
import {
  cents,
  choice,
  currency,
  email,
  group,
  instant,
  list,
  optional,
  reference,
  text,
  wholeNumber,
} from './fields.ts'
import type { Document } from './json-schema.ts'

const line = group({
  kind: choice('course', 'digital_product'),
  course_id: optional(reference('courses')),
  digital_product_id: optional(reference('digital_products')),
  title: { ...text(160), description: 'Name at the time of the order.' },
  quantity: wholeNumber(1, 100),
  unit_price_cents: cents(),
})

/** Only identified callers can read orders. Only the checkout writes orders, so this API cannot write them. */
export const orders: CollectionFamily = {
  kind: 'collection',
  name: 'orders',
  singular: 'order',
  plural: 'orders',
  about: 'Orders with buyer, lines and prices.',
  idPrefix: 'ord',
  writable: false,
  fields: {
    student_id: reference('students'),
    buyer_email: email(),
    state: choice('pending', 'paid', 'refunded'),
    placed_at: instant(),
    currency: currency(),
    coupon_id: optional(reference('coupons')),
    lines: list(line, 50),
    discount_cents: cents(),
  },
  derived: {
    fields: { subtotal_cents: cents(), total_cents: cents() },
    from: (order) => {
      const lines = order['lines'] as readonly Document[]
      const subtotal = lines.reduce(
        (sum, item) => sum + Number(item['quantity']) * Number(item['unit_price_cents']),
        0,
      )
      return { subtotal_cents: subtotal, total_cents: subtotal - Number(order['discount_cents']) }
    },
  },
  filters: ['state', 'student_id'],
  publicView: undefined,
}
