import type { CollectionFamily } from './family.ts'
import { choice, flag, group, list, prose, reference, references, text, wholeNumber } from './fields.ts'
import type { Document } from './json-schema.ts'

const lesson = group({
  title: text(120),
  kind: choice('video', 'text', 'exercise', 'quiz'),
  duration_minutes: wholeNumber(1, 600),
  free_preview: flag(false),
  content: prose(20_000, 'Markdown. Public only for a free preview.'),
  material_ids: references('storage', 10),
})

/** Sections of a course with their lessons. Anonymous callers can read the outline of published courses. */
export const curriculum: CollectionFamily = {
  kind: 'collection',
  name: 'curriculum',
  singular: 'curriculum-entry',
  plural: 'curriculum',
  about: 'The sections of each course, in order, with their lessons.',
  idPrefix: 'sec',
  writable: true,
  fields: {
    course_id: reference('courses'),
    title: text(120),
    position: wholeNumber(1, 1000),
    lessons: list(lesson, 100),
  },
  derived: {
    fields: { duration_minutes: wholeNumber(0, 60_000) },
    from: (section) => ({
      duration_minutes: lessonsOf(section).reduce(
        (sum, { duration_minutes }) => sum + Number(duration_minutes),
        0,
      ),
    }),
  },
  filters: ['course_id'],
  publicView: {
    where: `EXISTS (SELECT 1 FROM courses WHERE courses.id = curriculum.body ->> '$.course_id'
      AND courses.body ->> '$.state' = 'published')`,
    fields: ['course_id', 'title', 'position', 'lessons', 'duration_minutes'],
    trim: (section) => ({ ...section, lessons: lessonsOf(section).map(outline) }),
  },
}

function lessonsOf(section: Document): readonly Document[] {
  return section['lessons'] as readonly Document[]
}

/**
 * Returns the public part of a lesson: the outline, and the content of a free preview. The school sells the lessons.
 */
function outline(lesson: Document): Document {
  return lesson['free_preview'] === true
    ? { ...lesson, material_ids: [] }
    : { ...lesson, content: '', material_ids: [] }
}
