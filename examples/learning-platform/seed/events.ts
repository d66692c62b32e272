import type { Document } from '../families/json-schema.ts'

export const seedEvents: readonly Document[] = [
  event('Open studio: bring your bowls', 'meetup', '2026-02-14T17:00:00.000Z', 1, 'crs_0001', 40),
  event('Ask anything about sharpening', 'webinar', '2026-03-10T18:00:00.000Z', 2, 'crs_0004', 200),
  event('Paper edits, live', 'workshop', '2026-04-18T09:00:00.000Z', 3, 'crs_0007', 24),
  event('Kiln controllers: show and tell', 'webinar', '2026-05-20T18:00:00.000Z', 4, 'crs_0009', 200),
  event('A book in a day', 'workshop', '2026-06-13T08:00:00.000Z', 5, 'crs_0011', 12),
  event('Autumn firing', 'meetup', '2026-10-03T08:00:00.000Z', 1, 'crs_0003', 30),
  { ...event('Winter programme', 'webinar', '2026-12-01T18:00:00.000Z', 4, null, 200), state: 'draft' },
  {
    ...event('Summer dovetails', 'workshop', '2026-07-11T08:00:00.000Z', 2, 'crs_0006', 16),
    state: 'cancelled',
  },
]

function event(
  title: string,
  kind: string,
  starts_at: string,
  lecturer: number,
  course_id: string | null,
  capacity: number,
): Document {
  const hours = kind === 'webinar' ? 1 : 6
  const isOnline = kind === 'webinar'
  return {
    title,
    description: isOnline
      ? 'An hour, with time for questions.'
      : 'Tools and materials are there. Bring an apron.',
    kind,
    starts_at,
    ends_at: new Date(Date.parse(starts_at) + hours * 3_600_000).toISOString(),
    place: isOnline ? 'On line' : 'The yard, workshop two',
    join_url: isOnline ? `https://meet.kiln-and-compass.example/${starts_at.slice(0, 10)}` : null,
    capacity,
    lecturer_ids: [`lec_000${lecturer}`],
    course_id,
    state: 'published',
  }
}
