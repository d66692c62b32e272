import type { Document } from '../families/json-schema.ts'

export const seedPosts: readonly Document[] = [
  post('Why your first bowl leans', 1, '2026-01-19', ['pottery'], 'Clay remembers where your elbows were.'),
  post('Three stones are enough', 2, '2026-02-09', ['tools'], 'What each of them does, and when to stop.'),
  post(
    'Listen to the room first',
    3,
    '2026-03-02',
    ['film', 'sound'],
    'Thirty seconds of nothing save an hour of editing.',
  ),
  post(
    'Logging a firing',
    4,
    '2026-04-06',
    ['code', 'kilns'],
    'A text file, a sensor and a little patience.',
  ),
  post('Paper has a grain', 5, '2026-05-11', ['paper'], 'Two ways to find it without tearing anything.'),
  {
    ...post('What we plan for winter', 4, null, ['school'], 'Two new courses and a longer table.'),
    state: 'draft',
  },
  { ...post('Opening week', 1, '2026-01-05', ['school'], 'Thank you for coming.'), state: 'archived' },
]

function post(
  title: string,
  lecturer: number,
  published_on: string | null,
  tags: readonly string[],
  excerpt: string,
): Document {
  return {
    title,
    slug: title.toLowerCase().replaceAll(' ', '-'),
    excerpt,
    body: `${excerpt}\n\nWe wrote down what we tell people in the workshop. Try it this week, and tell us what you saw.`,
    lecturer_id: `lec_000${lecturer}`,
    tags,
    published_on,
    state: 'published',
  }
}
