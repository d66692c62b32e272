import type { CollectionFamily } from './family.ts'
import { cents, choice, currency, list, prose, references, slug, state, text } from './fields.ts'

export const courses: CollectionFamily = {
  kind: 'collection',
  name: 'courses',
  singular: 'course',
  plural: 'courses',
  about: 'The courses of the school.',
  idPrefix: 'crs',
  writable: true,
  fields: {
    title: text(120),
    slug: slug(),
    summary: text(300),
    description: prose(10_000, 'Markdown.'),
    level: choice('beginner', 'intermediate', 'advanced'),
    language: { type: 'string', pattern: '^[a-z]{2}$', default: 'en' },
    price_cents: cents(),
    currency: currency(),
    state: state('draft', 'published', 'archived'),
    lecturer_ids: references('lecturers', 10),
    tags: list(text(40), 12),
    internal_notes: prose(2000, 'For the team; never public.'),
  },
  unique: ['slug'],
  filters: ['state', 'level', 'slug'],
  publicView: {
    where: `courses.body ->> '$.state' = 'published'`,
    fields: [
      'title',
      'slug',
      'summary',
      'description',
      'level',
      'language',
      'price_cents',
      'currency',
      'state',
      'lecturer_ids',
      'tags',
    ],
  },
}
