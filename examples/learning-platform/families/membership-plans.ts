import type { CollectionFamily } from './family.ts'
import { cents, choice, currency, list, prose, references, state, text, wholeNumber } from './fields.ts'

export const membershipPlans: CollectionFamily = {
  kind: 'collection',
  name: 'membership_plans',
  singular: 'membership-plan',
  plural: 'membership-plans',
  about: 'Prices and benefits of memberships.',
  idPrefix: 'plan',
  writable: true,
  fields: {
    name: text(80),
    description: prose(2000),
    price_cents: cents(),
    currency: currency(),
    interval: choice('month', 'year'),
    trial_days: { ...wholeNumber(0, 90), default: 0 },
    benefits: list(text(160), 20),
    course_ids: references('courses', 100),
    state: state('draft', 'offered', 'retired'),
  },
  unique: ['name'],
  filters: ['state', 'interval'],
  publicView: {
    where: `membership_plans.body ->> '$.state' = 'offered'`,
    fields: ['name', 'description', 'price_cents', 'currency', 'interval', 'trial_days', 'benefits', 'state'],
  },
}
