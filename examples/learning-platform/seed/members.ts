import type { Document } from '../families/json-schema.ts'
import { dayAfter, id, person } from './people.ts'

/** Twenty-four members. Every second student is a member with the same email address. */
export const seedMembers: readonly Document[] = Array.from({ length: 24 }, (_, index) => ({
  ...person(index * 2),
  student_id: id('stu', index * 2 + 1),
  membership_plan_id: id('plan', (index % 4) + 1),
  joined_on: dayAfter('2026-01-20', index * 9),
  state: index % 12 === 11 ? 'ended' : index % 8 === 7 ? 'paused' : 'active',
}))
