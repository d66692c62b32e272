import type { CollectionFamily } from './family.ts'
import { day, email, optional, reference, state, text } from './fields.ts'

export const members: CollectionFamily = {
  kind: 'collection',
  name: 'members',
  singular: 'member',
  plural: 'members',
  about: 'The members of the community and their plans.',
  idPrefix: 'mem',
  writable: true,
  fields: {
    name: text(80),
    email: email(),
    student_id: optional(reference('students')),
    membership_plan_id: reference('membership_plans'),
    joined_on: day(),
    state: state('active', 'paused', 'ended'),
  },
  unique: ['email'],
  filters: ['state', 'membership_plan_id'],
  publicView: undefined,
}
