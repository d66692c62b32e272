import type { CollectionFamily } from './family.ts'
import { choice, optional, prose, reference, text } from './fields.ts'

/**
 * Comments of students on courses and posts. Anonymous callers can read approved comments on published targets, without
 * names.
 */
export const comments: CollectionFamily = {
  kind: 'collection',
  name: 'comments',
  singular: 'comment',
  plural: 'comments',
  about: 'Comments of students on courses and posts.',
  idPrefix: 'cmt',
  writable: false,
  fields: {
    course_id: optional(reference('courses')),
    post_id: optional(reference('posts')),
    student_id: reference('students'),
    author_name: text(80),
    text: prose(4000),
    state: choice('pending', 'approved', 'rejected'),
  },
  filters: ['state', 'course_id', 'post_id'],
  publicView: {
    where: `comments.body ->> '$.state' = 'approved' AND (
      EXISTS (SELECT 1 FROM courses WHERE courses.id = comments.body ->> '$.course_id'
        AND courses.body ->> '$.state' = 'published')
      OR EXISTS (SELECT 1 FROM posts WHERE posts.id = comments.body ->> '$.post_id'
        AND posts.body ->> '$.state' = 'published'))`,
    fields: ['course_id', 'post_id', 'text', 'state'],
  },
}
