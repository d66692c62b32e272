import type { Document } from '../families/json-schema.ts'
import { seedCourses } from './courses.ts'
import { id } from './people.ts'

const SECTIONS = [
  {
    title: 'Before you begin',
    lessons: ['What you will make', 'Your table and your tools', 'Materials and where to get them'],
  },
  {
    title: 'The first try',
    lessons: ['Watch it once', 'Do it slowly', 'What went wrong, and why that is fine'],
  },
  {
    title: 'Again, and better',
    lessons: ['Where attention pays', 'An exercise for a week', 'Looking at your work'],
  },
  { title: 'Finishing', lessons: ['The last ten per cent', 'Questions to check yourself'] },
]

/** Material of a course, by the number of the course. */
const MATERIALS: Readonly<Record<number, string>> = {
  2: 'file_0003',
  3: 'file_0002',
  4: 'file_0005',
  5: 'file_0004',
  7: 'file_0006',
  9: 'file_0007',
}

/** Each published or archived course has three or four sections, and each draft has two sections. */
export const seedCurriculum: readonly Document[] = seedCourses.flatMap((course, index) => {
  const count = course['state'] === 'draft' ? 2 : 3 + (index % 2)
  return SECTIONS.slice(0, count).map((section, place) => ({
    course_id: id('crs', index + 1),
    title: section.title,
    position: place + 1,
    lessons: section.lessons.map((title, lesson) => ({
      title,
      kind: kindOf(place, lesson),
      duration_minutes: 6 + ((index * 5 + place * 7 + lesson * 3) % 30),
      free_preview: place === 0 && lesson === 0,
      content: `## ${title}\n\n${String(course['summary'])} This part takes one step of it.`,
      material_ids: place === 0 && lesson === 2 ? materialsOf(index + 1) : [],
    })),
  }))
})

function kindOf(section: number, lesson: number): string {
  if (section === 3 && lesson === 1) return 'quiz'
  return ['video', 'text', 'exercise'][lesson] ?? 'text'
}

function materialsOf(course: number): readonly string[] {
  const material = MATERIALS[course]
  return material === undefined ? [] : [material]
}
