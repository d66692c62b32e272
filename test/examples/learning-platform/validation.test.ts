import t from 'tap'
import { families } from '../../../examples/learning-platform/families/families.ts'
import { familyPath } from '../../../examples/learning-platform/families/family.ts'
import type {
  Document,
  Fields,
  JsonSchema,
} from '../../../examples/learning-platform/families/json-schema.ts'
import type { Answer } from '../../fixtures/send.ts'
import { freshDraft } from './fresh-draft.ts'
import { type Platform, startPlatform } from './start-platform.ts'

/** The tests of the families share this platform. */
const platform = await startPlatform(t)

for (const family of families) {
  if (family.kind === 'report' || (family.kind === 'collection' && !family.writable)) continue
  const path = familyPath(family)

  t.test(
    `${family.name}: rejects each field that violates its schema with 400 and the field name`,
    async (t) => {
      const draft =
        family.kind === 'collection'
          ? await freshDraft(platform, family, 1)
          : await own(platform, path, family.fields)
      const write = (json: Document): Promise<Answer> =>
        platform.askAs('writer', path, { method: family.kind === 'collection' ? 'POST' : 'PUT', json })
      const rejects = async (json: Document, field: string) => {
        const answer = await write(json)
        t.equal(answer.status, 400, `${field} of ${JSON.stringify(json[field])?.slice(0, 60)}`)
        t.equal(answer.json['error'], 'invalid_request')
        t.match(String(answer.json['error_description']).split(/[.:]/)[0], field)
      }
      await rejects({ ...draft, surprise: 1 }, 'surprise')
      await rejects({ ...draft, created_by: 'somebody' }, 'created_by')
      for (const [name, schema] of Object.entries(family.fields)) {
        for (const value of wrongValues(schema)) await rejects({ ...draft, [name]: value }, name)
        if ('default' in schema) continue
        const { [name]: _left, ...without } = draft
        await rejects(without, name)
      }
      t.equal(
        (await write(draft)).status,
        family.kind === 'collection' ? 201 : 200,
        'and the valid value is accepted',
      )
    },
  )
}

t.test('rejects values that violate a rule outside the schema, with a description of the rule', async (t) => {
  const platform = await startPlatform(t)
  const rows = [
    ['/api/events/evt_0001', { ends_at: '2020-01-01T00:00:00Z' }, 'ends_at: must be after starts_at.'],
    ['/api/coupons/cpn_0001', { discount: { value: 101 } }, 'discount.value: must be at most 100 percent.'],
    ['/api/coupons/cpn_0001', { valid_until: '2020-01-01' }, 'valid_until: must not be before valid_from.'],
    [
      '/api/subscriptions/sub_0001',
      { current_period_ends_on: '2020-01-01' },
      'current_period_ends_on: must not be before started_on.',
    ],
    [
      '/api/students/stu_0001',
      { enrolments: [1, 2].map(() => ({ course_id: 'crs_0001', enrolled_on: '2026-01-12' })) },
      'enrolments.1.course_id: the student is already enrolled in this course.',
    ],
    ['/api/courses/crs_0001', { title: null }, 'title: the field is missing.'],
    ['/api/courses/crs_0001', {}, 'The body must name at least one field.'],
    [
      '/api/students/stu_0001',
      { enrolments: [{ course_id: 'crs_9999', enrolled_on: '2026-01-12' }] },
      'enrolments.0.course_id: unknown id in courses.',
    ],
    [
      '/api/appearance',
      { navigation: [{ label: 'Gone', page_id: 'pag_9999' }] },
      'navigation.0.page_id: unknown id in pages.',
    ],
  ] as const
  for (const [path, json, description] of rows) {
    const answer = await platform.askAs('writer', path, { method: 'PATCH', json })
    t.equal(answer.status, 400)
    t.equal(answer.json['error_description'], description)
  }
})

t.test('rejects a duplicate of a unique value with 409', async (t) => {
  const platform = await startPlatform(t)
  const change = (json: Document) =>
    platform.askAs('writer', '/api/coupons/cpn_0001', { method: 'PATCH', json })
  const rejected = await change({ code: 'FRIENDS20' })
  t.equal(rejected.status, 409)
  t.equal(rejected.json['error'], 'conflict')
  t.equal(rejected.json['error_description'], 'code: cpn_0003 already has this value.')
  t.equal((await change({ code: 'SPRING15' })).status, 200, 'its own value is not a conflict')
})

t.test('rejects deletion of a referenced resource with 409 and names the referring resource', async (t) => {
  const platform = await startPlatform(t)
  const rows = [
    'courses/crs_0001',
    'lecturers/lec_0001',
    'storage/file_0001',
    'pages/pag_0001',
    'membership-plans/plan_0001',
  ]
  for (const path of rows) {
    const answer = await platform.askAs('writer', `/api/${path}`, { method: 'DELETE' })
    t.equal(answer.status, 409, path)
    t.equal(answer.json['error'], 'conflict')
    t.match(answer.json['error_description'], /still references this/)
  }
})

t.test('rejects an outdated If-Match with 412 and changes nothing', async (t) => {
  const platform = await startPlatform(t)
  const rows = [
    ['/api/posts/pst_0001', { title: 'New' }],
    ['/api/school', { name: 'New' }],
  ] as const
  for (const [path, json] of rows) {
    const before = await platform.askAs('writer', path)
    const headers = { 'if-match': '"older", W/"weak"' }
    const rejected = await platform.askAs('writer', path, { method: 'PATCH', json, headers })
    t.equal(rejected.status, 412)
    t.equal(rejected.json['error'], 'precondition_failed')
    t.equal((await platform.askAs('writer', path)).text, before.text)
    const tag = before.headers.get('etag') ?? ''
    t.match(tag, /^"[\w-]{22}"$/)
    const known = await platform.askAs('writer', path, { headers: { 'if-none-match': `W/${tag}` } })
    t.equal(known.status, 304)
    t.equal(known.text, '')
    const changed = await platform.askAs('writer', path, {
      method: 'PATCH',
      json,
      headers: { 'if-match': tag },
    })
    t.equal(changed.status, 200)
    t.not(changed.headers.get('etag'), tag)
  }
})

async function own(platform: Platform, path: string, fields: Fields): Promise<Document> {
  const { json } = await platform.askAs('writer', path)
  return Object.fromEntries(Object.keys(fields).map((name) => [name, json[name]]))
}

/** Returns values that the schema must reject. */
function wrongValues(schema: JsonSchema): readonly unknown[] {
  const types = typeof schema.type === 'string' ? [schema.type] : (schema.type ?? [])
  const wrong: unknown[] = [{ surprise: 1 }]
  if (!types.includes('null')) wrong.push(null)
  if (types.includes('string')) wrong.push(1, true, [], 'x'.repeat((schema.maxLength ?? 100) + 1))
  if (types.includes('string') && schema.pattern !== undefined) wrong.push('\u0000')
  if (schema.enum !== undefined || schema.format !== undefined) wrong.push('neither', '')
  if (schema['x-references'] !== undefined) wrong.push('crs_9999', '__proto__')
  if (types.includes('integer')) wrong.push('1', 1.5, -1, Number(schema.maximum) + 1, true)
  if (types.includes('boolean')) wrong.push('true', 1)
  if (types.includes('array')) {
    wrong.push(
      'x',
      1,
      Array.from({ length: (schema.maxItems ?? 0) + 1 }, () => 'x'),
    )
    for (const value of wrongValues(schema.items ?? {})) wrong.push([value])
  }
  if (types.includes('object')) wrong.push([], 'x', ...((schema.required ?? []).length > 0 ? [{}] : []))
  return wrong
}
