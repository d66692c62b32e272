import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { type GatewayUnderTest, POLICY, startGatewayUnderTest } from '../fixtures/a-gateway.ts'
import { send } from '../fixtures/send.ts'

type Reloadable = GatewayUnderTest & {
  /** Writes the one policy file. */
  write(text: string, name?: string): void
  remove(name?: string): void
  readonly folder: string
  readyz(): Promise<string>
  metrics(): Promise<string>
}

async function startReloadable(t: Test): Promise<Reloadable> {
  let folder = ''
  const under = await startGatewayUnderTest(t, {
    change(config) {
      folder = config.policiesDir
      return config
    },
  })
  const { managementUrl } = under.gateway
  return {
    ...under,
    folder,
    write: (text, name = 'test.policy.yaml') => writeFileSync(join(folder, name), text),
    remove: (name = 'test.policy.yaml') => rmSync(join(folder, name)),
    readyz: async () => (await send(`${managementUrl}/readyz?verbose`)).text,
    metrics: async () => (await send(`${managementUrl}/metrics`)).text,
  }
}

const CLOSED = POLICY.replace('anonymous: allow', 'anonymous: deny')
const TYPO = POLICY.replace('owner: team-test', 'ownr: team-test')

t.test('broken policies change nothing, and everybody is told what is wrong and where', async (t) => {
  const under = await startReloadable(t)
  const { gateway } = under
  const before = await under.metrics()
  under.write(TYPO)
  const answer = await send(`${gateway.managementUrl}/reload`, { method: 'POST' })
  t.equal(answer.status, 422)
  const [first] = answer.json['diagnostics'] as Record<string, unknown>[]
  t.match(first, { code: 'P101', line: 4, column: 1, severity: 'error' })
  t.match(first?.['file'], /test\.policy\.yaml$/)
  t.equal((await send(`${gateway.url}/api/courses`)).status, 200)
  const ready = await send(`${gateway.managementUrl}/readyz?verbose`)
  t.equal(ready.status, 200)
  t.match(ready.text, /\[\+\] policies: degraded: .*test\.policy\.yaml:4:1: error\[P101\]/)
  const metrics = await under.metrics()
  t.match(metrics, /^scopegate_policy_reload_success 0$/m)
  t.match(metrics, /^scopegate_policy_reloads_total\{result="failure"\} 1$/m)
  t.equal(
    /policy_info\{.*/.exec(metrics)?.[0],
    /policy_info\{.*/.exec(before)?.[0],
    'the hash of those in force',
  )

  await gateway.reload('watch')
  await gateway.reload('signal')
  const told = under.log().filter(({ event }) => event === 'policy_reload_failed')
  t.equal(told.length, 2, 'a watch tells of the same content once, a signal is answered')
  t.match(told[0]?.['diagnostics'], /4 \| ownr: team-test\n {2}\| \^\^\^\^ did you mean "owner"\?/)
  t.match(await under.metrics(), /^scopegate_policy_reloads_total\{result="failure"\} 1$/m)

  under.write(POLICY)
  t.match(await gateway.reload('watch'), { result: 'unchanged', previousHash: undefined })
  t.match(await under.metrics(), /^scopegate_policy_reload_success 1$/m)
  t.match(await under.readyz(), /\[\+\] policies: 12 routes/)
})

t.test('a folder without policies, or no folder at all, leaves those in force', async (t) => {
  const under = await startReloadable(t)
  under.remove()
  t.match(await under.gateway.reload('signal'), { result: 'broken', diagnostics: [{ code: 'P005' }] })
  rmSync(under.folder, { recursive: true })
  t.match(await under.gateway.reload('signal'), { result: 'broken', diagnostics: [{ code: 'P001' }] })
  t.equal((await send(`${under.gateway.url}/api/courses`)).status, 200)
})

t.test('other policies come into force as a whole, documents included', async (t) => {
  const under = await startReloadable(t)
  const { gateway } = under
  const old = /policy_info\{hash="(\w+)"\}/.exec(await under.metrics())?.[1]
  under.write(
    CLOSED.replace('all: [courses:read]', 'all: [comments:read]').replace(
      'path: /api/denied',
      'path: /api/forbidden',
    ),
  )
  const answer = await send(`${gateway.managementUrl}/reload`, { method: 'POST' })
  t.equal(answer.status, 200)
  t.match(answer.json, { result: 'applied', previous_hash: old, diagnostics: [], routes: 12 })
  t.not(answer.json['hash'], old)
  t.equal((await send(`${gateway.url}/api/courses`)).status, 401)
  t.equal((await send(`${gateway.url}/api/denied`)).status, 404)
  t.equal((await send(`${gateway.url}/api/forbidden`)).status, 401)
  const { json } = await send(`${gateway.url}/.well-known/oauth-protected-resource`)
  t.ok((json['scopes_supported'] as string[]).includes('comments:read'))
  t.match((await send(`${gateway.url}/openapi.json`)).text, /"\/api\/forbidden"/)
  const metrics = await under.metrics()
  t.same(metrics.match(/^scopegate_policy_info\{.*/gm), [
    `scopegate_policy_info{hash="${answer.json['hash']}"} 1`,
  ])
  t.match(metrics, /^scopegate_policy_reloads_total\{result="success"\} 1$/m)
  t.match(
    under.log().find(({ event }) => event === 'policy_reloaded'),
    { asked_by: 'endpoint', policy_hash: answer.json['hash'], previous_policy_hash: old, routes: 12 },
  )
})
