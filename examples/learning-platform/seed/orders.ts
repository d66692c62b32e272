import type { Document } from '../families/json-schema.ts'
import { seedCourses } from './courses.ts'
import { seedDigitalProducts } from './digital-products.ts'
import { id } from './people.ts'
import { seedStudents } from './students.ts'

type Line = {
  readonly kind: 'course' | 'digital_product'
  readonly course_id: string | null
  readonly digital_product_id: string | null
  readonly title: unknown
  readonly quantity: number
  readonly unit_price_cents: number
}

/** Each student has one order with the courses of the student. Some orders also contain a file. */
export const seedOrders: readonly Document[] = seedStudents.map((student, index) => {
  const enrolments = student['enrolments'] as readonly Document[]
  const lines = enrolments.map((enrolment) => courseLine(String(enrolment['course_id'])))
  if (index % 4 === 1) lines.push(productLine((index % 5) + 1))
  const subtotal = lines.reduce((sum, line) => sum + line.unit_price_cents, 0)
  const hasCoupon = index % 6 === 2
  return {
    student_id: id('stu', index + 1),
    buyer_email: student['email'],
    state: index % 17 === 16 ? 'refunded' : index === 47 ? 'pending' : 'paid',
    placed_at: `${String(enrolments[0]?.['enrolled_on'])}T${String(8 + (index % 12)).padStart(2, '0')}:15:00.000Z`,
    currency: 'EUR',
    coupon_id: hasCoupon ? 'cpn_0003' : null, // FRIENDS20: 20 percent, without a time limit
    lines,
    discount_cents: hasCoupon ? Math.round(subtotal * 0.2) : 0,
  }
})

function courseLine(course_id: string): Line {
  const { title, price_cents } = seedCourses[Number(course_id.slice(-4)) - 1] ?? {}
  return {
    kind: 'course',
    course_id,
    digital_product_id: null,
    title,
    quantity: 1,
    unit_price_cents: Number(price_cents),
  }
}

function productLine(number: number): Line {
  const { title, price_cents } = seedDigitalProducts[number - 1] ?? {}
  return {
    kind: 'digital_product',
    course_id: null,
    digital_product_id: id('dig', number),
    title,
    quantity: 1,
    unit_price_cents: Number(price_cents),
  }
}
