import { account } from './account.ts'
import { analytics } from './analytics.ts'
import { appearance } from './appearance.ts'
import { comments } from './comments.ts'
import { coupons } from './coupons.ts'
import { courses } from './courses.ts'
import { curriculum } from './curriculum.ts'
import { digitalProducts } from './digital-products.ts'
import { events } from './events.ts'
import type { Family } from './family.ts'
import { forms } from './forms.ts'
import { lecturers } from './lecturers.ts'
import { members } from './members.ts'
import { membershipPlans } from './membership-plans.ts'
import { orders } from './orders.ts'
import { pages } from './pages.ts'
import { posts } from './posts.ts'
import { school } from './school.ts'
import { storage } from './storage.ts'
import { students } from './students.ts'
import { subscriptions } from './subscriptions.ts'

/** Routes, tables, validation and the OpenAPI document derive from this list. */
export const families: readonly Family[] = [
  courses,
  students,
  members,
  analytics,
  curriculum,
  orders,
  school,
  appearance,
  events,
  membershipPlans,
  coupons,
  posts,
  subscriptions,
  digitalProducts,
  comments,
  lecturers,
  storage,
  forms,
  pages,
  account,
]
