import type { Document } from '../families/json-schema.ts'
import { id } from './people.ts'
import { seedStudents } from './students.ts'

const SENTENCES = [
  'The second section made it click for me.',
  'Could you show the last step once more from the side?',
  'I did this with my daughter, and hers was better.',
  'Clear, calm and short. Thank you.',
  'My first three failed. The fourth stands on the shelf.',
  'Which of the tools can wait until later?',
  'The material list saved me a trip.',
]

/** Thirty-six comments. Two thirds are on a course of the student, and one third are on posts. */
export const seedComments: readonly Document[] = seedStudents.slice(0, 36).map((student, index) => {
  const isOnPost = index % 3 === 2
  const [enrolment] = student['enrolments'] as readonly Document[]
  return {
    course_id: isOnPost ? null : enrolment?.['course_id'],
    post_id: isOnPost ? id('pst', (index % 5) + 1) : null,
    student_id: id('stu', index + 1),
    author_name: student['name'],
    text: SENTENCES[index % SENTENCES.length],
    state: index % 9 === 4 ? 'pending' : index % 18 === 17 ? 'rejected' : 'approved',
  }
})
