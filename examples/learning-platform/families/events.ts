import type { CollectionFamily } from './family.ts'
import {
  choice,
  instant,
  optional,
  prose,
  reference,
  references,
  state,
  text,
  webAddress,
  wholeNumber,
} from './fields.ts'

/** Live meetings. Anonymous callers can read published meetings, without the join URL. */
export const events: CollectionFamily = {
  kind: 'collection',
  name: 'events',
  singular: 'event',
  plural: 'events',
  about: 'Live meetings, online and on site.',
  idPrefix: 'evt',
  writable: true,
  fields: {
    title: text(120),
    description: prose(4000),
    kind: choice('webinar', 'workshop', 'meetup'),
    starts_at: instant(),
    ends_at: instant(),
    place: text(160),
    join_url: optional(webAddress()),
    capacity: wholeNumber(1, 100_000),
    lecturer_ids: references('lecturers', 10),
    course_id: optional(reference('courses')),
    state: state('draft', 'published', 'cancelled'),
  },
  filters: ['state', 'kind'],
  publicView: {
    where: `events.body ->> '$.state' = 'published'`,
    fields: [
      'title',
      'description',
      'kind',
      'starts_at',
      'ends_at',
      'place',
      'capacity',
      'lecturer_ids',
      'state',
    ],
  },
  check: (event) =>
    Date.parse(String(event['ends_at'])) <= Date.parse(String(event['starts_at']))
      ? { field: 'ends_at', problem: 'must be after starts_at' }
      : undefined,
}
