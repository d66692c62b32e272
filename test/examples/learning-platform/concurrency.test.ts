import t from 'tap'
import { readAll } from './read-all.ts'
import { startPlatform } from './start-platform.ts'

const FIFTY = Array.from({ length: 50 }, (_, index) => index)

t.test('of fifty parallel creations of one slug, exactly one gets 201, the others get 409', async (t) => {
  const platform = await startPlatform(t)
  const json = { title: 'Once', slug: 'once', summary: 'Only once.' }
  const answers = await Promise.all(FIFTY.map(() => platform.askAs('writer', '/api/pages', { json })))
  const statuses = answers.map(({ status }) => status).sort()
  t.same(statuses, [201, ...Array<number>(49).fill(409)])
})

t.test('fifty parallel creations get fifty different IDs', async (t) => {
  const platform = await startPlatform(t)
  const answers = await Promise.all(
    FIFTY.map((number) =>
      platform.askAs('writer', '/api/pages', { json: { title: 'P', slug: `p-${number}`, summary: 'S' } }),
    ),
  )
  t.equal(new Set(answers.map(({ json }) => json['id'])).size, 50)
  const pages = await readAll((path) => platform.askAs('reader', path), '/api/pages', 100)
  t.equal(pages.filter(({ created_by }) => created_by === 'writer').length, 50)
})

t.test('of fifty parallel changes with one If-Match, exactly one gets 200, the others get 412', async (t) => {
  const platform = await startPlatform(t)
  const tag = (await platform.askAs('writer', '/api/courses/crs_0001')).headers.get('etag') ?? ''
  const answers = await Promise.all(
    FIFTY.map((number) =>
      platform.askAs('writer', '/api/courses/crs_0001', {
        method: 'PATCH',
        json: { title: `Title ${number}` },
        headers: { 'if-match': tag },
      }),
    ),
  )
  t.same(answers.map(({ status }) => status).sort(), [200, ...Array<number>(49).fill(412)])
})

t.test('keeps all parallel changes of different fields, also from two services with one file', async (t) => {
  const first = await startPlatform(t)
  const second = await startPlatform(t, first.databasePath)
  const fields = {
    title: 'New title',
    summary: 'New summary',
    level: 'advanced',
    price_cents: 1,
    language: 'de',
  }
  const answers = await Promise.all(
    Object.entries(fields).map(([name, value], index) =>
      [first, second][index % 2]?.askAs('writer', '/api/courses/crs_0001', {
        method: 'PATCH',
        json: { [name]: value },
      }),
    ),
  )
  for (const answer of answers) t.equal(answer?.status, 200)
  t.match((await second.askAs('reader', '/api/courses/crs_0001')).json, fields)
})

t.test('pagination during concurrent writes returns each item exactly once', async (t) => {
  const platform = await startPlatform(t)
  const before = await readAll((path) => platform.askAs('reader', path), '/api/posts', 100)
  let number = 0
  const pages = await readAll(
    async (path) => {
      number += 1
      const json = { title: 'N', slug: `n-${number}`, excerpt: 'N', lecturer_id: 'lec_0001' }
      if (number < 5) await platform.askAs('writer', '/api/posts', { json })
      return platform.askAs('reader', path)
    },
    '/api/posts',
    2,
  )
  const ids = pages.map(({ id }) => id)
  t.equal(new Set(ids).size, ids.length)
  for (const { id } of before) t.ok(ids.includes(id))
})
