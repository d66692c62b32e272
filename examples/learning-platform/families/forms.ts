import type { CollectionFamily } from './family.ts'
import { choice, email, flag, group, list, optional, prose, slug, text } from './fields.ts'

const question = group({
  name: slug(),
  label: text(160),
  kind: choice('line', 'paragraph', 'choice', 'date', 'email'),
  required: flag(false),
  choices: list(text(80), 20),
})

/** Forms on the school's pages. Anonymous callers can read open forms, without the address for notifications. */
export const forms: CollectionFamily = {
  kind: 'collection',
  name: 'forms',
  singular: 'form',
  plural: 'forms',
  about: "Forms on the school's pages.",
  idPrefix: 'frm',
  writable: false,
  fields: {
    title: text(120),
    slug: slug(),
    introduction: prose(2000),
    questions: list(question, 40),
    notify_email: optional(email()),
    state: choice('open', 'closed'),
  },
  unique: ['slug'],
  filters: ['state', 'slug'],
  publicView: {
    where: `forms.body ->> '$.state' = 'open'`,
    fields: ['title', 'slug', 'introduction', 'questions', 'state'],
  },
}
