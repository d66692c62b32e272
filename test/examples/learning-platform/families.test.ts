import t from 'tap'
import { families } from '../../../examples/learning-platform/families/families.ts'
import { familyPath } from '../../../examples/learning-platform/families/family.ts'
import type { Document } from '../../../examples/learning-platform/families/json-schema.ts'
import { freshDraft } from './fresh-draft.ts'
import { readAll } from './read-all.ts'
import { startPlatform } from './start-platform.ts'

t.test('the platform has the twenty families of the scope catalogue', async (t) => {
  t.equal(new Set(families.map(({ name }) => name)).size, 20)
})

/** The tests of the families share this platform. */
const platform = await startPlatform(t)

for (const family of families) {
  const path = familyPath(family)

  if (family.kind === 'collection' && family.writable)
    t.test(`${family.name}: supports create, read, replace, change and delete`, async (t) => {
      const draft = await freshDraft(platform, family, 1)
      const created = await platform.askAs('writer', path, { json: draft })
      t.equal(created.status, 201)
      t.match(created.json, { ...draft, created_by: 'writer', updated_by: 'writer' })
      const location = created.headers.get('location') ?? ''
      t.equal(location, `${path}/${String(created.json['id'])}`)
      t.match(created.json['id'], new RegExp(`^${family.idPrefix}_[0-9]{4}$`))

      const read = await platform.askAs('reader', location)
      t.equal(read.status, 200)
      t.same(read.json, created.json)
      t.equal(read.headers.get('etag'), created.headers.get('etag'))
      t.match(read.headers.get('cache-control'), /private/)
      t.equal((await platform.askAs('reader', location, { method: 'HEAD' })).status, 200)

      const other = await freshDraft(platform, family, 2)
      const replaced = await platform.askAs('editor', location, { method: 'PUT', json: other })
      t.equal(replaced.status, 200)
      t.match(replaced.json, { ...other, id: created.json['id'], created_by: 'writer', updated_by: 'editor' })

      const [name = '', value] = Object.entries(draft)[0] ?? []
      const headers = { 'content-type': 'application/merge-patch+json' }
      const changed = await platform.askAs('editor', location, {
        method: 'PATCH',
        json: { [name]: value },
        headers,
      })
      t.equal(changed.status, 200)
      t.match(changed.json, { ...other, [name]: value })

      const deleted = await platform.askAs('writer', location, { method: 'DELETE' })
      t.equal(deleted.status, 204)
      t.equal(deleted.text, '')
      t.equal((await platform.askAs('reader', location)).status, 404)
      t.equal((await platform.askAs('writer', location, { method: 'DELETE' })).status, 404)
      const next = await platform.askAs('writer', path, { json: draft })
      t.not(next.json['id'], created.json['id'], 'an ID is never reused')
    })

  if (family.kind === 'collection') {
    t.test(
      `${family.name}: pages of any size contain each item once, and filters select matching items`,
      async (t) => {
        const ask = (at: string) => platform.askAs('reader', at)
        const whole = await readAll(ask, path, 100)
        for (const limit of [1, 2, 7]) t.same(await readAll(ask, path, limit), whole, `limit=${limit}`)
        t.equal(new Set(whole.map(({ id }) => id)).size, whole.length)
        const standard = await ask(path)
        t.equal((standard.json['items'] as readonly unknown[]).length, Math.min(20, whole.length))
        const { headers, json } = await ask(`${path}?limit=1`)
        const link = /^<(.+)>; rel="next"$/.exec(headers.get('link') ?? '')?.[1] ?? ''
        t.same((await ask(link)).json['items'], [whole[1]], 'the Link header points to the next page')
        t.ok(link.includes(`cursor=${String(json['next'])}`))

        for (const filter of family.filters ?? []) {
          const value = whole.find((item) => item[filter] !== null)?.[filter]
          const { json } = await platform.askAs('reader', `${path}?limit=100&${filter}=${String(value)}`)
          t.same(
            json['items'],
            whole.filter((item) => item[filter] === value),
            filter,
          )
        }
      },
    )
  }

  if (family.kind === 'singleton')
    t.test(`${family.name}: supports read, replace and change`, async (t) => {
      const before = await platform.askAs('editor', path)
      t.equal(before.status, 200)
      const [name = '', value] = Object.entries(before.json).find(([key]) => key in family.fields) ?? []
      const draft = Object.fromEntries(Object.keys(family.fields).map((key) => [key, before.json[key]]))
      const replaced = await platform.askAs('editor', path, { method: 'PUT', json: draft })
      t.equal(replaced.status, 200)
      t.match(replaced.json, { ...draft, updated_by: 'editor' })
      const changed = await platform.askAs('editor', path, { method: 'PATCH', json: { [name]: value } })
      t.match(changed.json, draft)
      t.same((await platform.askAs('editor', path)).json, changed.json)
    })
}

/** Two values for one field of each singleton. The values differ from the initial value. */
const OTHER_VALUES: Readonly<Record<string, readonly [field: string, put: string, patch: string]>> = {
  account: ['display_name', 'Put', 'Patched'],
  school: ['name', 'Put', 'Patched'],
  appearance: ['primary_colour', '#123456', '#abcdef'],
}

t.test('PUT and PATCH of a singleton store the body of the request', async (t) => {
  const platform = await startPlatform(t)
  const singletons = families.filter((family) => family.kind === 'singleton')
  t.same(singletons.map(({ name }) => name).sort(), Object.keys(OTHER_VALUES).sort())
  for (const family of singletons) {
    const path = familyPath(family)
    const [field = '', put, patch] = OTHER_VALUES[family.name] ?? []
    const before = (await platform.askAs('editor', path)).json
    const draft = Object.fromEntries(Object.keys(family.fields).map((key) => [key, before[key]]))
    t.ok(field in draft && ![put, patch].includes(String(draft[field])), `${family.name} starts otherwise`)
    for (const [method, json, expected] of [
      ['PUT', { ...draft, [field]: put }, { ...draft, [field]: put }],
      ['PATCH', { [field]: patch }, { ...draft, [field]: patch }],
    ] as const) {
      const answer = await platform.askAs('editor', path, { method, json })
      t.equal(answer.status, 200, `${method} ${path}`)
      t.match(answer.json, expected, `${method} ${path}`)
      t.match((await platform.askAs('editor', path)).json, expected, `GET ${path} after ${method}`)
    }
  }
})

t.test('a PATCH keeps omitted fields, and null restores a default', async (t) => {
  const platform = await startPlatform(t)
  const { json: before } = await platform.askAs('reader', '/api/courses/crs_0001')
  const json = { title: 'Bowls', tags: null }
  const { json: after } = await platform.askAs('writer', '/api/courses/crs_0001', { method: 'PATCH', json })
  t.same(
    { ...after, updated_at: null, updated_by: null },
    { ...before, title: 'Bowls', tags: [], updated_at: null, updated_by: null },
  )
  const nested = { notifications: { product_news: true } }
  const account = await platform.askAs('ada', '/api/account', { method: 'PATCH', json: nested })
  t.same(account.json['notifications'], { product_news: true, weekly_summary: true })
})

t.test('reports reflect changes to the data', async (t) => {
  const platform = await startPlatform(t)
  const read = async () =>
    (await platform.askAs('reader', '/api/analytics')).json as Record<string, Record<string, number>>
  const before = await read()
  const publicBefore = (await platform.ask('/api/analytics')).json
  await platform.askAs('writer', '/api/courses/crs_0012', { method: 'PATCH', json: { state: 'published' } })
  const after = await read()
  t.equal(after['courses']?.['published'], Number(before['courses']?.['published']) + 1)
  t.equal(after['courses']?.['draft'], Number(before['courses']?.['draft']) - 1)
  const { json } = await platform.ask('/api/analytics')
  t.equal(json['courses_published'], Number(publicBefore['courses_published']) + 1)
  const orders = await readAll((at) => platform.askAs('reader', at), '/api/orders', 100)
  const paid = orders
    .filter(({ state }) => state === 'paid')
    .reduce((sum, { total_cents }) => sum + Number(total_cents), 0)
  const months = after['revenue_by_month'] as unknown as readonly Document[]
  t.equal(
    months.reduce((sum, { total_cents }) => sum + Number(total_cents), 0),
    paid,
  )
})
