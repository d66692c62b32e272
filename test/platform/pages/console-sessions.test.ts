import t from 'tap'
import {
  type ConsoleSessionEvent,
  createConsoleSessions,
  IDLE_MS,
  SESSION_MS,
  SIGN_IN_RATE,
} from '../../../platform/pages/console-sessions.ts'

const TOKEN = 'x'.repeat(32)

function open() {
  const clock = { nowMs: 0 }
  const events: ConsoleSessionEvent[] = []
  const sessions = createConsoleSessions({
    credential: { tokens: () => [TOKEN], check: async () => undefined },
    nowMs: () => clock.nowMs,
    onEvent: (event) => void events.push(event),
  })
  const signIn = async (headers = { host: '127.0.0.1:9091', origin: 'http://127.0.0.1:9091' }) => {
    const result = await sessions.signIn(TOKEN, { headers, clientAddress: '192.0.2.1' })
    const cookie = 'cookie' in result ? result.cookie : ''
    return { cookie, headers: { host: headers.host, cookie: cookie.split(';')[0] ?? '' } }
  }
  return { clock, events, sessions, signIn }
}

t.test('a session ends after its idle time', async (t) => {
  const { clock, sessions, signIn } = open()
  const { headers } = await signIn()
  clock.nowMs += IDLE_MS - 1
  t.ok(sessions.find(headers))
  clock.nowMs += IDLE_MS - 1
  t.ok(sessions.find(headers), 'a request starts the idle time again')
  clock.nowMs += IDLE_MS
  t.equal(sessions.find(headers), undefined)
})

t.test('a session ends after its absolute lifetime, although it is in use', async (t) => {
  const { clock, sessions, signIn } = open()
  const { headers } = await signIn()
  for (; clock.nowMs < SESSION_MS; clock.nowMs += IDLE_MS / 2) t.ok(sessions.find(headers))
  t.equal(sessions.find(headers), undefined)
})

t.test('the oldest session ends when too many sessions exist', async (t) => {
  const { clock, sessions, signIn } = open()
  const first = await signIn()
  for (let count = 0; count < 100; count += 1) {
    if (count % 9 === 0) clock.nowMs += SIGN_IN_RATE.windowMs
    const { headers } = await signIn()
    t.ok(sessions.find(headers))
  }
  t.equal(sessions.find(first.headers), undefined)
})

t.test('the cookie depends on the port, and is secure behind TLS', async (t) => {
  const { sessions, signIn } = open()
  const { cookie, headers } = await signIn({ host: 'console.example', origin: 'https://console.example' })
  t.match(cookie, /^scopegate-console-default=[\w-]{43}; Path=\/; HttpOnly; SameSite=Strict; Secure$/)
  t.ok(sessions.find(headers))
  t.equal(sessions.find({ ...headers, host: 'console.example:9091' }), undefined)
  t.equal(sessions.find({ ...headers, cookie: `${headers.cookie}; ${headers.cookie}` }), undefined)
})

t.test('events and sessions contain neither the token nor the ID of the session', async (t) => {
  const { events, sessions, signIn } = open()
  const { headers } = await signIn()
  const id = headers.cookie.split('=')[1] ?? ''
  const text = JSON.stringify([events, sessions.find(headers)?.name])
  t.equal(events[0]?.action, 'console_signed_in')
  t.notMatch(text, TOKEN)
  t.notMatch(text, id)
})
