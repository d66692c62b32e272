import type { CollectionFamily } from './family.ts'
import { day, email, group, list, optional, prose, reference, state, text, wholeNumber } from './fields.ts'
import type { Document } from './json-schema.ts'

export const students: CollectionFamily = {
  kind: 'collection',
  name: 'students',
  singular: 'student',
  plural: 'students',
  about: 'Students and their enrolments.',
  idPrefix: 'stu',
  writable: true,
  fields: {
    name: text(80),
    email: email(),
    state: state('active', 'paused', 'left'),
    enrolments: list(
      group({
        course_id: reference('courses'),
        enrolled_on: day(),
        progress_percent: { ...wholeNumber(0, 100), default: 0 },
        completed_on: optional(day()),
      }),
      200,
    ),
    notes: prose(2000),
  },
  unique: ['email'],
  filters: ['state'],
  publicView: undefined,
  check: (student) => {
    const seen = new Set<unknown>()
    for (const [index, enrolment] of (student['enrolments'] as readonly Document[]).entries()) {
      if (seen.has(enrolment['course_id']))
        return {
          field: `enrolments.${index}.course_id`,
          problem: 'the student is already enrolled in this course',
        }
      seen.add(enrolment['course_id'])
    }
    return undefined
  },
}
