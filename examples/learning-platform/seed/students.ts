import type { Document } from '../families/json-schema.ts'
import { dayAfter, id, person } from './people.ts'

const PUBLISHED_COURSES = 11

/** Forty-eight students with one to three courses each. About a third of the courses are completed. */
export const seedStudents: readonly Document[] = Array.from({ length: 48 }, (_, index) => ({
  ...person(index),
  state: index % 16 === 15 ? 'left' : index % 9 === 8 ? 'paused' : 'active',
  enrolments: Array.from({ length: 1 + (index % 3) }, (_unused, place) => enrolment(index, place)),
  notes: index % 11 === 0 ? 'Asked for captions on every video.' : '',
}))

function enrolment(student: number, place: number): Document {
  const enrolled_on = dayAfter('2026-01-12', student * 5 + place * 20)
  const isFinished = (student + place) % 3 === 0
  return {
    course_id: id('crs', ((student * 3 + place * 4) % PUBLISHED_COURSES) + 1),
    enrolled_on,
    progress_percent: isFinished ? 100 : (student * 13 + place * 29) % 95,
    completed_on: isFinished ? dayAfter(enrolled_on, 30 + ((student * 7) % 40)) : null,
  }
}
