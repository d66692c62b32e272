import type { CollectionFamily } from './family.ts'
import { day, list, optional, prose, reference, slug, state, text } from './fields.ts'

export const posts: CollectionFamily = {
  kind: 'collection',
  name: 'posts',
  singular: 'post',
  plural: 'posts',
  about: "The school's blog.",
  idPrefix: 'pst',
  writable: true,
  fields: {
    title: text(160),
    slug: slug(),
    excerpt: text(300),
    body: prose(50_000, 'Markdown.'),
    lecturer_id: reference('lecturers'),
    tags: list(text(40), 12),
    published_on: optional(day()),
    state: state('draft', 'published', 'archived'),
  },
  unique: ['slug'],
  filters: ['state', 'slug'],
  publicView: {
    where: `posts.body ->> '$.state' = 'published'`,
    fields: ['title', 'slug', 'excerpt', 'body', 'lecturer_id', 'tags', 'published_on', 'state'],
  },
}
