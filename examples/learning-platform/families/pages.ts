import type { CollectionFamily } from './family.ts'
import { optional, prose, reference, slug, state, text } from './fields.ts'

export const pages: CollectionFamily = {
  kind: 'collection',
  name: 'pages',
  singular: 'page',
  plural: 'pages',
  about: "The pages of the school's site.",
  idPrefix: 'pag',
  writable: true,
  fields: {
    title: text(120),
    slug: slug(),
    summary: text(300),
    body: prose(50_000, 'Markdown.'),
    form_id: optional(reference('forms')),
    state: state('draft', 'published', 'archived'),
  },
  unique: ['slug'],
  filters: ['state', 'slug'],
  publicView: {
    where: `pages.body ->> '$.state' = 'published'`,
    fields: ['title', 'slug', 'summary', 'body', 'form_id', 'state'],
  },
}
