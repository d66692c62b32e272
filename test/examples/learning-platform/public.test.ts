import t from 'tap'
import { families } from '../../../examples/learning-platform/families/families.ts'
import { familyPath } from '../../../examples/learning-platform/families/family.ts'
import type { Document } from '../../../examples/learning-platform/families/json-schema.ts'
import { readAll } from './read-all.ts'
import { startPlatform } from './start-platform.ts'

const E_MAIL = /[\w.+-]+@[\w-]+\.[\w.]+/
const PRIVATE = ['students', 'members', 'orders', 'subscriptions', 'coupons']

t.test(
  'denies every public write with 403 access_denied and no challenge, before reading the body',
  async (t) => {
    const platform = await startPlatform(t)
    for (const family of families) {
      const path = familyPath(family)
      const writes =
        family.kind === 'collection'
          ? [
              ['POST', path],
              ['PUT', `${path}/x`],
              ['PATCH', `${path}/x`],
              ['DELETE', `${path}/x`],
            ]
          : [
              ['PUT', path],
              ['PATCH', path],
            ]
      const isWritable = family.kind === 'singleton' || (family.kind === 'collection' && family.writable)
      for (const [method = '', address] of writes) {
        const answer = await platform.ask(`${address}`, {
          method,
          body: '{',
          headers: { 'content-type': 'text/xml' },
        })
        t.equal(answer.status, isWritable ? 403 : 405, `${method} ${address}`)
        t.equal(answer.json['error'], isWritable ? 'access_denied' : 'method_not_allowed')
        t.type(answer.json['error_description'], 'string')
        t.equal(answer.headers.get('www-authenticate'), null)
      }
    }
  },
)

t.test('treats a caller with an empty subject as public', async (t) => {
  const platform = await startPlatform(t)
  const headers = { 'x-auth-subject': '', 'x-auth-client-id': 'c', 'x-auth-scope': 'students:read' }
  t.same((await platform.ask('/api/students', { headers })).json, { items: [], next: null })
  t.equal((await platform.ask('/api/school', { method: 'PATCH', json: { name: 'X' }, headers })).status, 403)
})

t.test('no public response contains an email address, a subject, or a private field', async (t) => {
  const platform = await startPlatform(t)
  await platform.askAs('secret-subject', '/api/courses/crs_0001', {
    method: 'PATCH',
    json: { tags: ['clay'] },
  })
  await platform.askAs('secret-subject', '/api/account')
  for (const family of families) {
    const path = familyPath(family)
    if (family.kind === 'collection') {
      const seen = await readAll(platform.ask, path, 100)
      const all = await readAll((at) => platform.askAs('reader', at), path, 100)
      t.equal(
        seen.length > 0,
        !PRIVATE.includes(family.name),
        `${family.name}: ${seen.length} of ${all.length}`,
      )
      t.notMatch(JSON.stringify(seen), E_MAIL)
      t.notMatch(
        JSON.stringify(seen),
        /secret-subject|learning-platform|internal_notes|join_url|author_name|student_id/,
      )
      const known = new Set(seen.map(({ id }) => id))
      for (const { id } of all) {
        const answer = await platform.ask(`${path}/${String(id)}`)
        t.equal(answer.status, known.has(id) ? 200 : 404, `${family.name} ${String(id)}`)
        t.notMatch(answer.text, E_MAIL)
      }
    } else {
      const { status, text } = await platform.ask(path)
      t.equal(status, 200)
      t.notMatch(text, E_MAIL)
      t.notMatch(text, /secret-subject|tax_number/)
    }
  }
})

t.test('the public reads only published resources, and gets 404 for the others', async (t) => {
  const platform = await startPlatform(t)
  for (const path of ['courses', 'posts', 'pages', 'events', 'digital-products']) {
    const states = (await readAll(platform.ask, `/api/${path}`, 100)).map(({ state }) => state)
    t.same([...new Set(states)], ['published'])
    t.same((await platform.ask(`/api/${path}?state=draft`)).json, { items: [], next: null })
  }
  const change = (state: string) =>
    platform.askAs('writer', '/api/courses/crs_0001', { method: 'PATCH', json: { state } })
  await change('draft')
  t.equal((await platform.ask('/api/courses/crs_0001')).status, 404)
  t.same(
    (await platform.ask('/api/curriculum?course_id=crs_0001')).json['items'],
    [],
    'the curriculum is hidden',
  )
  t.same(
    (await platform.ask('/api/comments?course_id=crs_0001')).json['items'],
    [],
    'the comments are hidden',
  )
  await change('published')
  t.equal((await platform.ask('/api/courses/crs_0001')).status, 200)
})

t.test('the public reads the content of free previews only', async (t) => {
  const platform = await startPlatform(t)
  const sections = await readAll(platform.ask, '/api/curriculum', 100)
  const lessons = sections.flatMap((section) => section['lessons'] as readonly Document[])
  for (const { free_preview, content, material_ids } of lessons) {
    t.equal(content !== '', free_preview)
    t.same(material_ids, [])
  }
  t.ok(lessons.some(({ free_preview }) => free_preview))
})

t.test('every list filter is a public field, so that a filter reveals no private data', async (t) => {
  for (const family of families)
    if (family.kind === 'collection' && family.publicView !== undefined)
      for (const filter of family.filters ?? [])
        t.ok(family.publicView.fields.includes(filter), `${family.name} ${filter}`)
})

t.test('only its subject can access an account', async (t) => {
  const platform = await startPlatform(t)
  t.same((await platform.ask('/api/account')).json, { subject: null })
  const message = { method: 'PATCH', json: { display_name: 'Ada the First' } }
  t.equal((await platform.askAs('ada', '/api/account', message)).status, 200)
  const ada = (await platform.askAs('ada', '/api/account')).json
  t.match(ada, {
    subject: 'ada',
    display_name: 'Ada the First',
    access: { client_id: 'test-client', scopes: ['openid'] },
  })
  t.match((await platform.askAs('bruno', '/api/account')).json, { subject: 'bruno', display_name: 'bruno' })
  t.equal((await platform.askAs('<>"\'', '/api/account')).json['display_name'], 'Somebody')
})
