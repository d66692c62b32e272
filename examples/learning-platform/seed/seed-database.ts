import type { DatabaseSync } from 'node:sqlite'
import { families } from '../families/families.ts'
import { draftSchema } from '../families/family-schemas.ts'
import type { Document } from '../families/json-schema.ts'
import { openCollection } from '../store/collection.ts'
import { openLinks } from '../store/links.ts'
import { readLinks } from '../store/read-links.ts'
import { openSingleton } from '../store/singleton.ts'
import { seedComments } from './comments.ts'
import { seedCoupons } from './coupons.ts'
import { seedCourses } from './courses.ts'
import { seedCurriculum } from './curriculum.ts'
import { seedDigitalProducts } from './digital-products.ts'
import { seedEvents } from './events.ts'
import { seedForms } from './forms.ts'
import { seedLecturers } from './lecturers.ts'
import { seedMembers } from './members.ts'
import { seedMembershipPlans } from './membership-plans.ts'
import { seedOrders } from './orders.ts'
import { seedPages } from './pages.ts'
import { seedPosts } from './posts.ts'
import { seedStorage } from './storage.ts'
import { seedStudents } from './students.ts'
import { seedSubscriptions } from './subscriptions.ts'

/** Initial rows of every table. IDs follow the order, so the first course is crs_0001. */
const SEEDS: Readonly<Record<string, readonly Document[]>> = {
  lecturers: seedLecturers,
  storage: seedStorage,
  courses: seedCourses,
  curriculum: seedCurriculum,
  digital_products: seedDigitalProducts,
  students: seedStudents,
  membership_plans: seedMembershipPlans,
  members: seedMembers,
  subscriptions: seedSubscriptions,
  coupons: seedCoupons,
  orders: seedOrders,
  events: seedEvents,
  posts: seedPosts,
  comments: seedComments,
  forms: seedForms,
  pages: seedPages,
}

/** Author and time of every seeded row. The values are constant, so that two seeded files are equal. */
const STAMP = { by: 'learning-platform', at: '2026-01-05T08:00:00.000Z' }

/**
 * Fills an empty database. Runs once per file, in the transaction that creates its tables.
 * @throws {Error} if a seed references a missing resource.
 */
export function seedDatabase(database: DatabaseSync): void {
  const collections = families.filter((family) => family.kind === 'collection')
  const links = openLinks(
    database,
    collections.map(({ name }) => name),
  )
  const seeded = collections.flatMap((family) => {
    const collection = openCollection(database, family)
    const schema = draftSchema(family)
    return (SEEDS[family.name] ?? []).map((body) => {
      const row = collection.insert(body, STAMP)
      return { source: family.name, id: row.id, named: readLinks(schema, body) }
    })
  })
  for (const family of families) {
    if (family.kind !== 'singleton' || family.owner !== 'school') continue
    const body = family.initial('')
    openSingleton(database, family).write('', body, STAMP)
    seeded.push({ source: family.name, id: '', named: readLinks(draftSchema(family), body) })
  }
  for (const { source, id, named } of seeded) {
    const missing = links.missing(named)
    if (missing !== undefined)
      throw new Error(`seed of ${source} ${id}: ${missing.field} names ${missing.id}`)
    links.write(source, id, named)
  }
}
