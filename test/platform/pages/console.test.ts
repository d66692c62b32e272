import { once } from 'node:events'
import { request } from 'node:http'
import t, { type Test } from 'tap'
import { startOpsServer } from '../../../platform/ops/ops-server.ts'
import { type Console, createConsole, MAX_STREAMS } from '../../../platform/pages/console.ts'
import type { ConsoleAccess } from '../../../platform/pages/console-access.ts'
import { type ConsolePage, live } from '../../../platform/pages/console-page.ts'
import type { ConsoleSessions } from '../../../platform/pages/console-sessions.ts'
import { html } from '../../../platform/pages/html.ts'
import { send } from '../../fixtures/send.ts'
import { SILENT_LOGGER } from '../../fixtures/silent-logger.ts'

const HOSTILE = `"'><script>alert(1)</script><img src=x onerror=alert(1)>`

const state = { value: 'first', watched: 0, reads: 0, fails: false }

/** A page whose data contains text from outside. */
const PAGE: ConsolePage<{ readonly value: string }> = {
  path: '/console/thing',
  title: 'Thing',
  heading: ({ value }) => value,
  data(query) {
    state.reads += 1
    if (state.fails) throw new Error('no data')
    const value = query.get('name') ?? state.value
    return value === 'absent' ? undefined : { value }
  },
  render: ({ value }) => live('thing', html`<p title="${value}">${value}</p>`),
  watch() {
    state.watched += 1
    return () => {
      state.watched -= 1
    }
  },
}

async function start(
  t: Test,
  access?: ConsoleAccess,
): Promise<{ readonly url: string; readonly console: Console }> {
  const logger = SILENT_LOGGER
  const about = { name: `API ${HOSTILE}`, version: '1.2.3' }
  const console = createConsole({ ...about, pages: [PAGE], logger, ...(access && { access }) })
  const server = await startOpsServer({
    host: '127.0.0.1',
    port: 0,
    service: 'test',
    version: '0',
    metrics: async () => [],
    checks: () => [],
    endpoints: console.endpoints,
    notFound: console.notFound,
    logger,
  })
  t.teardown(async () => {
    console.close()
    await server.close()
  })
  return { url: server.url, console }
}

/** Sends a request with headers that fetch() does not allow, and returns the response without its body. */
async function status(url: string, headers: Record<string, string>, method = 'GET'): Promise<number> {
  const sent = request(url, { method, headers, agent: false }).end()
  const [response] = await once(sent, 'response')
  response.destroy()
  return response.statusCode
}

/** Opens live updates. `next` returns the content of the next event. */
async function openEvents(url: string, headers: Record<string, string> = { referer: `${url}/` }) {
  const sent = request(`${url}/console/thing?format=events`, {
    headers: { accept: 'text/event-stream', ...headers },
    agent: false,
  }).end()
  const [response] = await once(sent, 'response')
  let text = ''
  response.setEncoding('utf8').on('data', (part: string) => (text += part))
  return {
    status: response.statusCode as number,
    /** The received text, or undefined if the connection ended before the stream. */
    ended: new Promise<string | undefined>((resolve) => {
      response.on('error', () => undefined)
      response.once('close', () => resolve(response.complete ? text : undefined))
    }),
    async next(): Promise<string> {
      while (!/^data: .*\n\n/m.test(text)) await once(response, 'data')
      const [, data = '""'] = /^data: (.*)\n\n/m.exec(text) ?? []
      text = ''
      return JSON.parse(data)
    },
    close: () => sent.destroy(),
  }
}

t.test('a page is HTML and JSON, and escapes each text from outside', async (t) => {
  const { url } = await start(t)
  const page = await send(`${url}/console/thing?${new URLSearchParams({ name: HOSTILE })}`)
  t.equal(page.status, 200)
  t.notMatch(page.text, '<script>alert')
  t.notMatch(page.text, '<img')
  t.match(page.text, '<h1>&#34;&#39;&#62;&#60;script&#62;')
  const { headers } = page
  t.match(
    headers.get('content-security-policy'),
    /^default-src 'none'; style-src 'sha256-\S+'; script-src 'sha256-\S+'; connect-src 'self'; img-src data:; frame-ancestors 'none'; base-uri 'none'; form-action 'none'$/,
  )
  t.equal(headers.get('x-content-type-options'), 'nosniff')
  t.equal(headers.get('cache-control'), 'no-store')
  t.equal(headers.get('cross-origin-resource-policy'), 'same-origin')

  const json = await send(`${url}/console/thing?format=json&${new URLSearchParams({ name: HOSTILE })}`)
  t.strictSame(json.json, { value: HOSTILE })
  t.equal(json.headers.get('content-type'), 'application/json; charset=utf-8')
  t.equal(json.headers.get('x-content-type-options'), 'nosniff')
  t.match(await send(`${url}/console/thing?name=absent&format=json`), {
    status: 404,
    json: { error: 'not_found' },
  })
})

t.test(
  'an unknown path and an unknown subject have a page for browsers, and JSON for other clients',
  async (t) => {
    const { url } = await start(t)
    const headers = { accept: 'text/html,*/*' }
    for (const path of ['/console/other', '/console/thing?name=absent']) {
      const page = await send(url + path, { headers })
      t.equal(page.status, 404, path)
      t.match(page.text, '<h1>Page not found</h1>')
    }
    t.match((await send(`${url}/console/other`)).json, { error: 'not_found' })
    t.equal((await send(`${url}/console/thing`, { method: 'POST' })).status, 405)
  },
)

t.test('pages of other origins cannot load the console, but can link to it', async (t) => {
  const { url } = await start(t)
  const page = `${url}/console/thing`
  const events = { accept: 'text/event-stream' }
  for (const [headers, expected] of [
    [{ host: 'evil.test' }, 421],
    [{ origin: 'http://evil.test' }, 403],
    [{ origin: 'null' }, 403],
    [{ origin: 'http://evil.test', ...events }, 403],
    [{ 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'no-cors', 'sec-fetch-dest': 'image' }, 403],
    [{ 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'navigate', 'sec-fetch-dest': 'iframe' }, 403],
    [{ 'sec-fetch-site': 'same-site', 'sec-fetch-mode': 'cors', 'sec-fetch-dest': 'empty' }, 403],
    [{ origin: url }, 200],
    [{ 'sec-fetch-site': 'same-origin', 'sec-fetch-mode': 'cors', 'sec-fetch-dest': 'empty' }, 200],
    [{ 'sec-fetch-site': 'none', 'sec-fetch-mode': 'navigate', 'sec-fetch-dest': 'document' }, 200],
    [{ 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'navigate', 'sec-fetch-dest': 'document' }, 200],
  ] as const)
    for (const format of ['', '?format=json'])
      t.equal(await status(page + format, headers), expected, JSON.stringify([headers, format]))
})

t.test(
  'an open page gets an event when its content changes, and the watch ends with the last event',
  async (t) => {
    state.value = 'first'
    const { url, console } = await start(t)
    t.equal(console.isWatched, false)
    const events = await openEvents(url)
    t.equal(console.isWatched, true)
    t.equal(state.watched, 1)
    await console.publish()
    t.match(await events.next(), '<p title="first">first</p>')
    await console.publish()
    state.value = HOSTILE
    await console.publish()
    t.notMatch(await events.next(), /first|<script>/, 'unchanged content causes no event')
    events.close()
    while (console.isWatched) await new Promise(setImmediate)
    t.equal(state.watched, 0)
  },
)

t.test('live updates have a limit, need an Accept header, and end when the service stops', async (t) => {
  const { url, console } = await start(t)
  const address = `${url}/console/thing?format=events`
  t.equal(await status(address, {}), 406)
  t.equal(await status(address, { accept: 'image/*' }), 406)
  t.equal(await status(address, { accept: 'text/event-stream' }, 'HEAD'), 200)
  t.equal(console.isWatched, false, 'HEAD opens no stream')
  t.equal(await status(`${url}/console/thing`, {}, 'HEAD'), 200)

  const open = await Promise.all(Array.from({ length: MAX_STREAMS }, () => openEvents(url)))
  t.ok(open.every((events) => events.status === 200))
  const refused = await send(address, { headers: { accept: 'text/event-stream' } })
  t.match(refused, { status: 503, json: { error: 'temporarily_unavailable' } })
  t.equal(refused.headers.get('retry-after'), '5')
  t.equal((await send(`${url}/console/thing`)).status, 200, 'pages are still available')

  state.reads = 0
  await console.publish()
  t.equal(state.reads, 1, 'equal pages share their content')

  console.close()
  t.ok((await Promise.all(open.map(({ ended }) => ended))).every((text) => text?.startsWith('retry: ')))
  t.equal((await send(address, { headers: { accept: 'text/event-stream' } })).status, 503)
})

t.test('other pages cannot open all live updates with requests without an origin', async (t) => {
  for (const headers of [{}, { referer: 'http://other.test/' }, { referer: 'about:blank' }]) {
    const { url } = await start(t)
    const open = await Promise.all(Array.from({ length: MAX_STREAMS }, () => openEvents(url, headers)))
    t.ok(open.some(({ status }) => status === 503))
    const own = await Promise.all([
      openEvents(url, { referer: `${url}/console/thing` }),
      openEvents(url, { 'sec-fetch-site': 'same-origin' }),
    ])
    t.strictSame(
      own.map(({ status }) => status),
      [200, 200],
    )
  }
})

t.test('an exception in a page ends its live updates, and other requests get responses', async (t) => {
  const { url, console } = await start(t)
  const events = await openEvents(url)
  state.fails = true
  t.teardown(() => {
    state.fails = false
  })
  await console.publish()
  t.equal(await events.ended, undefined)
  t.equal((await send(`${url}/console/thing`)).status, 500)
  t.equal((await send(`${url}/livez`)).status, 200)
})

t.test('the page of a limited sign-in counts the remaining seconds', async (t) => {
  for (const [retryAfterSeconds, text] of [
    [1, 'Try again in 1 second.'],
    [2, 'Try again in 2 seconds.'],
  ] as const) {
    const sessions: ConsoleSessions = {
      find: () => undefined,
      signIn: async () => ({ rejected: 'throttled', retryAfterSeconds }),
      signOut: () => '',
      verifyForm: () => false,
    }
    const { url } = await start(t, { sessions, setting: 'management.adminTokenFile' })
    const headers = { 'content-type': 'application/x-www-form-urlencoded', origin: url }
    const response = await send(`${url}/console/sign-in`, { method: 'POST', headers, body: 'token=wrong' })
    t.match(response, { status: 429, text })
  }
})
