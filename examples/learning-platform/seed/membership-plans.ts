import type { Document } from '../families/json-schema.ts'

const ALL_COURSES = Array.from({ length: 11 }, (_, index) => `crs_${String(index + 1).padStart(4, '0')}`)

export const seedMembershipPlans: readonly Document[] = [
  plan(
    'Workbench',
    1900,
    'month',
    14,
    ['Every beginner course', 'Two live meetings a month'],
    ['crs_0001', 'crs_0004', 'crs_0005', 'crs_0007', 'crs_0010', 'crs_0011'],
  ),
  plan(
    'Workshop',
    3900,
    'month',
    14,
    ['Every course', 'All live meetings', 'Feedback on what you make'],
    ALL_COURSES,
  ),
  plan(
    'Workshop, by the year',
    39_000,
    'year',
    0,
    ['Every course', 'All live meetings', 'Two months for nothing'],
    ALL_COURSES,
  ),
  {
    ...plan('Founding friends', 900, 'month', 0, ['The plan of the first hundred'], ['crs_0001', 'crs_0004']),
    state: 'retired',
  },
]

function plan(
  name: string,
  price_cents: number,
  interval: 'month' | 'year',
  trial_days: number,
  benefits: readonly string[],
  course_ids: readonly string[],
): Document {
  const description = `${benefits.join('. ')}. Cancel whenever you like.`
  return {
    name,
    description,
    price_cents,
    currency: 'EUR',
    interval,
    trial_days,
    benefits,
    course_ids,
    state: 'offered',
  }
}
