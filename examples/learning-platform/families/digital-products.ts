import type { CollectionFamily } from './family.ts'
import { cents, choice, currency, optional, prose, reference, slug, state, text } from './fields.ts'

/** Files for sale. Anonymous callers can read published products, without the ID of the file. */
export const digitalProducts: CollectionFamily = {
  kind: 'collection',
  name: 'digital_products',
  singular: 'digital-product',
  plural: 'digital-products',
  about: 'Files for sale: books, templates, recordings.',
  idPrefix: 'dig',
  writable: true,
  fields: {
    title: text(120),
    slug: slug(),
    description: prose(4000),
    kind: choice('ebook', 'template', 'audio', 'worksheet'),
    price_cents: cents(),
    currency: currency(),
    file_id: optional(reference('storage')),
    state: state('draft', 'published', 'archived'),
  },
  unique: ['slug'],
  filters: ['state', 'kind', 'slug'],
  publicView: {
    where: `digital_products.body ->> '$.state' = 'published'`,
    fields: ['title', 'slug', 'description', 'kind', 'price_cents', 'currency', 'state'],
  },
}
