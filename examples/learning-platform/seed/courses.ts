import type { Document } from '../families/json-schema.ts'

/** Fourteen courses: eleven published, two drafts, one archived. */
export const seedCourses: readonly Document[] = [
  course(
    'First bowls on the wheel',
    'beginner',
    8900,
    1,
    ['pottery'],
    'From a lump to a bowl that holds soup.',
  ),
  course(
    'Glazes from raw materials',
    'intermediate',
    11900,
    1,
    ['pottery', 'glazing'],
    'Weigh, test and fire glazes that you understand.',
  ),
  course(
    'Firing with wood',
    'advanced',
    18900,
    1,
    ['pottery', 'kilns'],
    'Build, stoke and read a small wood kiln.',
  ),
  course(
    'Sharpening by hand',
    'beginner',
    4900,
    2,
    ['joinery', 'tools'],
    'Three stones and a strop, and edges that last.',
  ),
  course(
    'A three-legged stool',
    'beginner',
    9900,
    2,
    ['joinery'],
    'Five tools, one weekend, something to sit on.',
  ),
  course(
    'Dovetails without a jig',
    'intermediate',
    12900,
    2,
    ['joinery'],
    'Mark, saw and pare joints that close.',
  ),
  course(
    'Cutting a short film',
    'beginner',
    7900,
    3,
    ['film', 'editing'],
    'Find the five minutes in five hours of footage.',
  ),
  course(
    'Sound for documentaries',
    'intermediate',
    10900,
    3,
    ['film', 'sound'],
    'Record, clean and mix what people say and rooms sound like.',
  ),
  course(
    'Programming a kiln controller',
    'intermediate',
    14900,
    4,
    ['code', 'kilns'],
    'Measure, control and log a real oven in TypeScript.',
  ),
  course(
    'Databases for small studios',
    'beginner',
    9900,
    4,
    ['code', 'databases'],
    'Orders, stock and customers in one file that you own.',
  ),
  course('Case binding', 'beginner', 6900, 5, ['bookbinding'], 'Fold, sew and case a book that opens flat.'),
  course(
    'Repairing old books',
    'advanced',
    13900,
    5,
    ['bookbinding', 'paper'],
    'Spines, corners and torn leaves, without glue you regret.',
    'draft',
  ),
  course(
    'Testing what you build',
    'advanced',
    12900,
    4,
    ['code', 'testing'],
    'Tests that fail for the right reason.',
    'draft',
  ),
  course('Ink and wash', 'beginner', 5900, 6, ['drawing'], 'Water, ink and patience.', 'archived'),
]

function course(
  title: string,
  level: string,
  price_cents: number,
  lecturer: number,
  tags: readonly string[],
  summary: string,
  state = 'published',
): Document {
  return {
    title,
    slug: title.toLowerCase().replaceAll(' ', '-'),
    summary,
    description: `${summary}\n\nYou work at your own pace. Every section ends with something to make, and your lecturer looks at what you send.`,
    level,
    language: 'en',
    price_cents,
    currency: 'EUR',
    state,
    lecturer_ids: [`lec_000${lecturer}`],
    tags,
    internal_notes:
      state === 'draft'
        ? 'Filming is planned; do not announce yet.'
        : 'Check the material list before the next run.',
  }
}
