import type { DatabaseSync } from 'node:sqlite'
import type { ReportFamily } from './family.ts'
import { group, list, wholeNumber } from './fields.ts'
import type { Document, JsonSchema } from './json-schema.ts'

const count = wholeNumber(0, Number.MAX_SAFE_INTEGER)
const word: JsonSchema = { type: 'string' }

const REVENUE = `SELECT json_each.value ->> '$.course_id' AS course_id,
    (json_each.value ->> '$.quantity') * (json_each.value ->> '$.unit_price_cents') AS cents
  FROM orders, json_each(orders.body, '$.lines') WHERE orders.body ->> '$.state' = 'paid'`

const ORDER_TOTAL = `(SELECT sum((json_each.value ->> '$.quantity') * (json_each.value ->> '$.unit_price_cents'))
  FROM json_each(orders.body, '$.lines')) - (orders.body ->> '$.discount_cents')`

export const analytics: ReportFamily = {
  kind: 'report',
  name: 'analytics',
  about: 'Statistics about the school, calculated for each request.',
  fields: {
    courses: group({ published: count, draft: count, archived: count, lessons: count }),
    students: group({ total: count, active: count, enrolments: count, completions: count }),
    subscriptions: group({ active: count, trialing: count, past_due: count, cancelled: count }),
    revenue_by_month: list(group({ month: word, currency: word, orders: count, total_cents: count }), 1200),
    top_courses: list(group({ course_id: word, title: word, enrolments: count, revenue_cents: count }), 5),
    coupons_redeemed: count,
    comments_waiting: count,
  },
  read: (database) => ({
    courses: {
      ...byState(database, 'courses', ['published', 'draft', 'archived']),
      lessons: one(
        database,
        `SELECT coalesce(sum(json_array_length(body, '$.lessons')), 0) AS n FROM curriculum`,
      ),
    },
    students: {
      total: one(database, 'SELECT count(*) AS n FROM students'),
      active: one(database, `SELECT count(*) AS n FROM students WHERE body ->> '$.state' = 'active'`),
      enrolments: one(
        database,
        `SELECT count(*) AS n FROM students, json_each(students.body, '$.enrolments')`,
      ),
      completions: one(
        database,
        `SELECT count(*) AS n FROM students, json_each(students.body, '$.enrolments')
         WHERE json_each.value ->> '$.completed_on' IS NOT NULL`,
      ),
    },
    subscriptions: byState(database, 'subscriptions', ['active', 'trialing', 'past_due', 'cancelled']),
    revenue_by_month: all(
      database,
      `SELECT substr(body ->> '$.placed_at', 1, 7) AS month, body ->> '$.currency' AS currency,
         count(*) AS orders, sum(${ORDER_TOTAL}) AS total_cents
       FROM orders WHERE body ->> '$.state' = 'paid' GROUP BY 1, 2 ORDER BY 1, 2`,
    ),
    top_courses: all(
      database,
      `SELECT courses.id AS course_id, courses.body ->> '$.title' AS title,
         (SELECT count(*) FROM links WHERE source = 'students' AND target = 'courses' AND target_id = courses.id)
           AS enrolments,
         (SELECT coalesce(sum(cents), 0) FROM (${REVENUE}) AS sold WHERE sold.course_id = courses.id) AS revenue_cents
       FROM courses ORDER BY enrolments DESC, courses.number LIMIT 5`,
    ),
    coupons_redeemed: one(
      database,
      `SELECT count(*) AS n FROM orders WHERE body ->> '$.coupon_id' IS NOT NULL AND body ->> '$.state' = 'paid'`,
    ),
    comments_waiting: one(
      database,
      `SELECT count(*) AS n FROM comments WHERE body ->> '$.state' = 'pending'`,
    ),
  }),
  publicFields: { courses_published: count, lecturers: count, events_published: count },
  readPublic: (database) => ({
    courses_published: one(
      database,
      `SELECT count(*) AS n FROM courses WHERE body ->> '$.state' = 'published'`,
    ),
    lecturers: one(database, `SELECT count(*) AS n FROM lecturers WHERE body ->> '$.state' = 'active'`),
    events_published: one(
      database,
      `SELECT count(*) AS n FROM events WHERE body ->> '$.state' = 'published'`,
    ),
  }),
}

function one(database: DatabaseSync, sql: string): number {
  return Number(database.prepare(sql).get()?.['n'])
}

function all(database: DatabaseSync, sql: string): readonly Document[] {
  return database.prepare(sql).all()
}

function byState(
  database: DatabaseSync,
  table: 'courses' | 'subscriptions',
  states: readonly string[],
): Document {
  const statement = database.prepare(`SELECT count(*) AS n FROM ${table} WHERE body ->> '$.state' = ?`)
  return Object.fromEntries(states.map((state) => [state, Number(statement.get(state)?.['n'])]))
}
