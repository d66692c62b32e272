import type { Document } from '../families/json-schema.ts'

export const seedDigitalProducts: readonly Document[] = [
  product(
    'Your first bowl, the short book',
    'ebook',
    1200,
    'file_0008',
    'Forty pages that fit beside the wheel.',
  ),
  product(
    'Paper edit template',
    'template',
    500,
    'file_0009',
    'The table that every film of ours began with.',
  ),
  product(
    'Stool cut list',
    'worksheet',
    300,
    'file_0004',
    'Every part of the three-legged stool, ready to saw.',
  ),
  product('Glaze recipe cards', 'worksheet', 900, 'file_0003', 'Twelve cards, tested on three clays.'),
  product('Workshop sounds', 'audio', 700, null, 'An hour of planes, saws and rain, for concentration.'),
  {
    ...product('Bookbinding patterns', 'template', 800, null, 'Measured drawings for six bindings.'),
    state: 'draft',
  },
]

function product(
  title: string,
  kind: string,
  price_cents: number,
  file_id: string | null,
  description: string,
): Document {
  const slug = title.toLowerCase().replace(/[^a-z]+/g, '-')
  return { title, slug, description, kind, price_cents, currency: 'EUR', file_id, state: 'published' }
}
