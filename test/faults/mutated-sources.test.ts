import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { startGatewayUnderTest } from '../fixtures/a-gateway.ts'
import { mutatePolicy, seededRandom } from '../fixtures/mutate-sources.ts'
import { send } from '../fixtures/send.ts'

/** Number of mutants. `npm run soak:sources` sets a higher number. */
const MUTANTS = Number(process.env['SOURCE_MUTANTS'] ?? 30)
/** Every tenth mutant restarts the gateway. */
const RESTART_EVERY = 10
const SEED = Number(process.env['SOURCE_SEED'] ?? 47)

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
/** Requests for the source whose files stay valid, with method, path, headers and expected status. */
const EXPECTED = [
  ['GET', '/api/billing/open', {}, 200],
  ['GET', '/api/billing/7', {}, 401],
  ['GET', '/api/billing/7', { 'x-any': 'a' }, 401],
  ['POST', '/api/billing/7', {}, 405],
  ['GET', '/api/billing/7/8', {}, 404],
  ['GET', '/api/billing', {}, 404],
  ['GET', '/elsewhere', {}, 404],
  ['GET', '/api/courses-admin', {}, 404],
  ['GET', '/API/billing/7', {}, 404],
] as const

t.test(
  `${MUTANTS} mutants of one source change no response of another source`,
  { timeout: 60_000 + MUTANTS * 5_000 },
  async (t) => {
    const root = mkdtempSync(join(tmpdir(), 'scopegate-mutants-'))
    t.teardown(() => rmSync(root, { recursive: true, force: true }))
    for (const name of ['courses', 'billing', 'data']) mkdirSync(join(root, name))
    const write = (source: string, text: string) =>
      writeFileSync(join(root, source, 'team.policy.yaml'), text)
    write('billing', BILLING)
    write('courses', COURSES)
    const start = () =>
      startGatewayUnderTest(t, {
        change: (config) => ({
          ...config,
          policiesDir: '',
          policySources: ['courses', 'billing'].map((name) => ({
            name,
            folder: join(root, name),
            owner: undefined,
            permissions: {
              pathPrefixes: [`/api/${name}`],
              upstreams: ['api'],
              scopes: [],
              anonymous: name === 'billing',
              forwardCredentials: false,
            },
          })),
          onInvalidPolicy: 'keep',
          dataDir: join(root, 'data'),
        }),
      })
    const random = seededRandom(SEED)
    const states = new Map<string, number>()
    let under = await start()
    for (let index = 1; index <= MUTANTS; index++) {
      const mutant = mutatePolicy(COURSES, random)
      write('courses', mutant)
      if (index % RESTART_EVERY === 0) {
        await under.gateway.close({ how: 'immediate' })
        if (index % (2 * RESTART_EVERY) === 0)
          rmSync(join(root, 'data', 'policy-source-courses.json'), { force: true })
        under = await start()
      } else {
        const reloading = under.gateway.reload('signal')
        const during = await send(`${under.gateway.url}/api/billing/open`)
        if (during.status !== 200) t.fail(`status ${during.status} during the reload of\n${mutant}`)
        const report = await reloading
        const state = report.sources.find(({ name }) => name === 'courses')?.state ?? 'none'
        states.set(state, (states.get(state) ?? 0) + 1)
        if (report.sources.find(({ name }) => name === 'billing')?.state !== 'valid')
          t.fail(`the other source is invalid after\n${mutant}`)
      }
      for (const [method, path, headers, status] of EXPECTED) {
        const response = await send(`${under.gateway.url}${path}`, { method, headers })
        if (response.status !== status)
          t.fail(`${method} ${path}: ${response.status} in place of ${status} after\n${mutant}`)
      }
      // The source has no permission for requests without a token. No mutant may open a path, not even a path of the
      // source.
      for (const path of ['/api/courses/open', '/api/courses/7']) {
        const { status } = await send(`${under.gateway.url}${path}`)
        if (status === 200) t.fail(`${path} is open after\n${mutant}`)
      }
      if (index % 5 === 0) write('courses', COURSES)
    }
    t.ok((states.get('valid') ?? 0) > 0, 'some mutants are valid')
    t.ok((states.get('kept') ?? 0) > 0, 'some mutants are invalid')
    t.pass(JSON.stringify(Object.fromEntries(states)))
  },
)
