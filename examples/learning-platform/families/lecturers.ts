import type { CollectionFamily } from './family.ts'
import { email, list, prose, state, text } from './fields.ts'

export const lecturers: CollectionFamily = {
  kind: 'collection',
  name: 'lecturers',
  singular: 'lecturer',
  plural: 'lecturers',
  about: 'The teachers of the school.',
  idPrefix: 'lec',
  writable: true,
  fields: {
    name: text(80),
    headline: text(160),
    bio: prose(4000),
    email: email(),
    expertise: list(text(40), 12),
    state: state('active', 'inactive'),
  },
  unique: ['email'],
  publicView: {
    where: `lecturers.body ->> '$.state' = 'active'`,
    fields: ['name', 'headline', 'bio', 'expertise'],
  },
}
