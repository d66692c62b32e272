import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { foldedPrefix, readingsOf } from '../../policy-engine/match/fold-path.ts'
import { type GatewayUnderTest, startGatewayUnderTest } from '../fixtures/a-gateway.ts'
import { mutateFolder, mutatePolicy, type SourceFolder, seededRandom } from '../fixtures/mutate-sources.ts'
import { OK_REPLY, startRecordingUpstream } from '../fixtures/recording-upstream.ts'
import { send } from '../fixtures/send.ts'

/** Number of mutants. `npm run soak:sources` tests more mutants. */
const MUTANTS = Number(process.env['SOURCE_MUTANTS'] ?? 30)
/** Every tenth mutant restarts the gateway. */
const RESTART_EVERY = 10
const SEED = Number(process.env['SOURCE_SEED'] ?? 47)
/** Response time of `/api/slow`, longer than the short timeout of some mutants. Milliseconds. */
const SLOW_MS = 20

const BILLING = `apiVersion: scopegate/v1
kind: Policy
name: invoices
upstream: api
routes:
  - { name: open, anonymous: allow, match: { methods: [GET], path: /api/billing/open } }
  - { name: closed, anonymous: deny, match: { methods: [GET], path: "/api/billing/{id}" } }
`
const COURSES = `apiVersion: scopegate/v1
kind: Policy
name: catalog
upstream: api
routes:
  - name: all
    match: { methods: [GET], path: /api/courses/open }
    anonymous: deny
`
const PLATFORM = `apiVersion: scopegate/v1
kind: Policy
name: catalog
upstream: api
routes:
  - name: all
    match: { methods: [GET, POST], path: "/api/**" }
    anonymous: allow
`
/** Requests for the source `billing`, whose files stay valid. Columns: method, path, headers, and status. */
const EXPECTED = [
  ['GET', '/api/billing/open', {}, 200],
  ['HEAD', '/api/billing/open', {}, 200],
  ['GET', '/api/billing/7', {}, 401],
  ['GET', '/api/billing/7', { 'x-any': 'a' }, 401],
  ['POST', '/api/billing/7', {}, 405],
  ['GET', '/api/billing/7/8', {}, 404],
  ['GET', '/api/billing', {}, 404],
  ['GET', '/elsewhere', {}, 404],
  ['GET', '/API/billing/7', {}, 404],
] as const
/**
 * Spellings of a `billing` path that requires a token. Some servers treat these spellings as the path, so the gateway
 * must reject them.
 */
const SPELLINGS = [
  '/api/Billing/7',
  '/api/billing;x/7',
  '/api/billing%3Bx/7',
  '/api/billing./7',
  '/api/billing%20/7',
  '/api/%2562illing/7',
]
const isBilling = (target: string): boolean =>
  readingsOf(target).some((segments) =>
    foldedPrefix('/api/billing').every((segment, index) => segments[index] === segment),
  )

t.test(
  `${MUTANTS} mutants of two sources change no response of another source`,
  { timeout: 60_000 + MUTANTS * 5_000 },
  async (t) => {
    const root = mkdtempSync(join(tmpdir(), 'scopegate-mutants-'))
    const [permitted, forbidden] = await Promise.all([startRecordingUpstream(), startRecordingUpstream()])
    t.teardown(async () => {
      rmSync(root, { recursive: true, force: true })
      await Promise.all([permitted.close(), forbidden.close()])
    })
    const addresses = {
      permitted: permitted.url,
      forbidden: [
        forbidden.url,
        forbidden.url.replace('127.0.0.1', 'localhost'),
        forbidden.url.replace('127.0.0.1', '2130706433'),
        'http://169.254.169.254',
        'http://[::1]:9090',
      ],
    }
    const write = (source: string, files: SourceFolder): void => {
      rmSync(join(root, source), { recursive: true, force: true })
      if (files === undefined) return
      mkdirSync(join(root, source))
      for (const [name, text] of Object.entries(files))
        if (text.startsWith('symlink:')) symlinkSync(text.slice('symlink:'.length), join(root, source, name))
        else writeFileSync(join(root, source, name), text)
    }
    const reset = (): void => {
      write('courses', { 'team.policy.yaml': COURSES })
      write('platform', { 'team.policy.yaml': PLATFORM })
    }
    write('billing', { 'team.policy.yaml': BILLING })
    reset()
    const prefixes = { platform: '/api', courses: '/api/courses', billing: '/api/billing' }
    const start = async () => {
      const under = await startGatewayUnderTest(t, {
        change: (config) => ({
          ...config,
          policiesDir: '',
          policySources: Object.entries(prefixes).map(([name, prefix]) => ({
            name,
            folder: join(root, name),
            owner: undefined,
            permissions: {
              pathPrefixes: [prefix],
              upstreams: ['api'],
              addresses: name === 'platform' ? [permitted.url] : [],
              scopes: [`${name}:*`],
              anonymous: name !== 'courses',
              forwardCredentials: false,
            },
          })),
          onInvalidPolicy: 'keep',
          dataDir: join(root, 'data'),
        }),
      })
      under.upstream.reply((socket, { method, target }) => {
        const reply = method === 'HEAD' ? OK_REPLY.replace(/\{.*$/, '') : OK_REPLY
        if (target !== '/api/slow') socket.write(reply)
        else setTimeout(() => socket.write(reply), SLOW_MS)
      })
      return under
    }
    const random = seededRandom(SEED)
    const states = new Map<string, number>()
    let open = 0
    let turn = 0
    let under = await start()
    for (let index = 1; index <= MUTANTS; index++) {
      const source = index % RESTART_EVERY === 5 ? 'courses' : 'platform'
      const mutant =
        source === 'courses'
          ? { 'team.policy.yaml': mutatePolicy(COURSES, random) }
          : mutateFolder(PLATFORM, { random, turn: turn++ }, addresses)
      const shown = JSON.stringify(mutant)?.slice(0, 1_000) ?? 'no folder'
      write(source, mutant)
      if (index % RESTART_EVERY === 0) {
        await under.gateway.close({ how: 'immediate' })
        if (index % (2 * RESTART_EVERY) === 0)
          rmSync(join(root, 'data', `policy-source-${source}.json`), { force: true })
        under = await start()
      } else {
        const reloading = under.gateway.reload('signal')
        const during = await send(`${under.gateway.url}/api/billing/open`)
        if (during.status !== 200) t.fail(`status ${during.status} during the reload of\n${shown}`)
        const report = await reloading
        const state = report.sources.find(({ name }) => name === source)?.state ?? 'none'
        states.set(state, (states.get(state) ?? 0) + 1)
        if (report.sources.find(({ name }) => name === 'billing')?.state !== 'valid')
          t.fail(`the other source is invalid after\n${shown}`)
      }
      // With a short timeout of the mutant, these requests fail. They must not open the circuit of the upstream.
      await Promise.all(Array.from({ length: 6 }, () => send(`${under.gateway.url}/api/slow`)))
      await checkBilling(under, (problem) => t.fail(`${problem} after\n${shown}`))
      // The source `courses` has no permission for requests without a token, so no mutant may open a path of this
      // source.
      for (const path of ['/api/courses/open', '/api/courses/7']) {
        const { status } = await send(`${under.gateway.url}${path}`)
        if (status === 200) t.fail(`${path} is open after\n${shown}`)
      }
      if ((await send(`${under.gateway.url}/api/x`)).status === 200) open += 1
      if (forbidden.connections > 0) t.fail(`the gateway reached a forbidden address after\n${shown}`)
      if (/root:x:|HOME=\//.test(under.logText())) t.fail(`the log contains a file after\n${shown}`)
      if (index % 5 === 0) reset()
    }
    t.ok((states.get('valid') ?? 0) > 0, 'some mutants are valid')
    t.ok((states.get('kept') ?? 0) > 0, 'some mutants are invalid')
    t.ok(open > 0, 'the wide route of the mutated source serves its own paths')
    t.pass(JSON.stringify(Object.fromEntries(states)))
  },
)

/** Checks the responses for `billing`, and the requests that reached its service. */
async function checkBilling(under: GatewayUnderTest, fail: (problem: string) => void): Promise<void> {
  const { url } = under.gateway
  const before = under.upstream.requests.length
  for (const [method, path, headers, status] of EXPECTED) {
    const response = await send(`${url}${path}`, { method, headers })
    if (response.status !== status) fail(`${method} ${path}: ${response.status} in place of ${status}`)
  }
  for (const path of SPELLINGS) {
    const { status } = await send(`${url}${path}`)
    if (status === 200) fail(`${path} is open`)
  }
  const rewritten = await send(`${url}/api/x/7`)
  const reached = under.upstream.requests.slice(before).filter(({ target }) => isBilling(target))
  const unexpected = reached.filter(({ target }) => target !== '/api/billing/open')
  if (unexpected.length > 0) fail(`${unexpected[0]?.target} reached the upstream (${rewritten.status})`)
}
