import type { CollectionFamily } from './family.ts'
import { day, flag, optional, reference, state } from './fields.ts'

export const subscriptions: CollectionFamily = {
  kind: 'collection',
  name: 'subscriptions',
  singular: 'subscription',
  plural: 'subscriptions',
  about: 'Subscriptions of members to plans, with their end dates.',
  idPrefix: 'sub',
  writable: true,
  fields: {
    member_id: reference('members'),
    membership_plan_id: reference('membership_plans'),
    state: state('trialing', 'active', 'past_due', 'cancelled'),
    started_on: day(),
    current_period_ends_on: day(),
    cancel_at_period_end: flag(false),
    cancelled_on: optional(day()),
  },
  filters: ['state', 'member_id', 'membership_plan_id'],
  publicView: undefined,
  check: (subscription) =>
    String(subscription['current_period_ends_on']) < String(subscription['started_on'])
      ? { field: 'current_period_ends_on', problem: 'must not be before started_on' }
      : undefined,
}
