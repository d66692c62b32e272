import type { Document } from '../families/json-schema.ts'
import { seedMembers } from './members.ts'
import { dayAfter, id } from './people.ts'

const YEARLY_PLAN = 'plan_0003'

/** Each member has one subscription. The subscription has the plan of the member and starts on the day of joining. */
export const seedSubscriptions: readonly Document[] = seedMembers.map((member, index) => {
  const started_on = String(member['joined_on'])
  const state = stateOf(member['state'], index)
  const days = member['membership_plan_id'] === YEARLY_PLAN ? 365 : 30 * (4 + (index % 6))
  const current_period_ends_on = dayAfter(started_on, days)
  return {
    member_id: id('mem', index + 1),
    membership_plan_id: member['membership_plan_id'],
    state,
    started_on,
    current_period_ends_on,
    cancel_at_period_end: state === 'active' && index % 10 === 4,
    cancelled_on: state === 'cancelled' ? current_period_ends_on : null,
  }
})

function stateOf(member: unknown, index: number): string {
  if (member === 'ended') return 'cancelled'
  if (member === 'paused') return 'past_due'
  return index >= 22 ? 'trialing' : 'active'
}
