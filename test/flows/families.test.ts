import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { parse } from 'yaml'
import { findPackageRoot } from '../../platform/process/package-root.ts'
import { likeExisting, type OpenApi, oneChange, requestSchema, vary } from '../fixtures/example-body.ts'
import { openBrowser } from '../fixtures/open-browser.ts'
import { parseChallenge } from '../fixtures/parse-challenge.ts'
import { registerClient } from '../fixtures/register-client.ts'
import { type Answer, send } from '../fixtures/send.ts'
import { startScopegate } from '../fixtures/start-scopegate.ts'

// The tests read the catalogue and the policies, so that a new family needs no change of the tests.
type Route = {
  readonly name: string
  readonly match: { readonly methods: readonly string[]; readonly path: string }
  readonly scopes?: { readonly all?: readonly string[]; readonly any?: readonly string[] }
}
type Policy = { readonly name: string; readonly routes: readonly Route[] }
type Operation = {
  readonly method: string
  readonly path: string
  readonly scope: string
  readonly title: string
}

const STATUS_OF: Readonly<Record<string, number>> = { GET: 200, POST: 201, PUT: 200, PATCH: 200, DELETE: 204 }
const MAX_TRIES = 5

const root = findPackageRoot()
const catalogue = (
  readYaml('config/scopes.yaml') as { scopes: readonly { name: string; sensitivity: string }[] }
).scopes
const resourceScopes = catalogue
  .filter(({ sensitivity }) => sensitivity !== 'identity')
  .map(({ name }) => name)
const policies = readdirSync(join(root, 'policies'))
  .filter((file) => file.endsWith('.policy.yaml'))
  .map((file) => readYaml(join('policies', file)) as Policy)

const scopegate = await startScopegate(t)
const browser = openBrowser(scopegate.baseUrl)
const client = await registerClient(scopegate)
const api = (await send(`${scopegate.baseUrl}/openapi.json`)).json as unknown as OpenApi

/** For each scope, a token with only this scope. */
const only = new Map<string, string>()
/** For each scope, a token with all other scopes. */
const allBut = new Map<string, string>()
await obtainAllTokens()

t.test('the policies require exactly the resource scopes of the catalogue', async (t) => {
  const asked = policies.flatMap(operationsOf).map(({ scope }) => scope)
  t.same([...new Set(asked)].toSorted(), resourceScopes.toSorted())
  t.equal(
    new Set(resourceScopes.map((scope) => scope.split(':')[0])).size,
    policies.length,
    'one file for each family',
  )
})

for (const policy of policies) {
  const operations = operationsOf(policy)
  t.test(`routes of family ${policy.name} enforce their scopes`, async (t) => {
    for (const operation of operations) {
      const { scope, title } = operation

      t.test(`${title} with only ${scope} succeeds`, async (t) => {
        const answer = await perform(t, operation, operations, only.get(scope))
        t.equal(answer.status, STATUS_OF[operation.method], answer.text)
        t.notOk(answer.headers.has('x-scopegate-error'))
        t.notOk(answer.headers.has('www-authenticate'))
      })

      t.test(`${title} without ${scope} gets 403 with the missing scope`, async (t) => {
        const sibling = operations.find((other) => other.scope !== scope)?.scope ?? nextScope(scope)
        for (const token of [allBut.get(scope), only.get(sibling)]) {
          const answer = await attempt(operation, token)
          t.equal(answer.status, 403)
          t.match(answer.json, { error: 'insufficient_scope', error_description: String, scope })
          t.match(parseChallenge(answer.headers.get('www-authenticate')), {
            scheme: 'Bearer',
            parameters: {
              error: 'insufficient_scope',
              scope,
              resource_metadata: `${scopegate.baseUrl}/.well-known/oauth-protected-resource`,
            },
          })
          t.equal(answer.json['scope'], scope, 'the response names no other scope')
          t.equal(answer.headers.get('x-scopegate-error'), '1')
        }
      })

      t.test(`${title} with a bad token gets 401`, async (t) => {
        const answer = await attempt(operation, 'not-a-token')
        t.equal(answer.status, 401)
        t.match(answer.json, { error: 'invalid_token', error_description: String })
        t.match(parseChallenge(answer.headers.get('www-authenticate')).parameters, { error: 'invalid_token' })
      })

      t.test(`${title} without a token reaches the API as an anonymous request`, async (t) => {
        const answer = await attempt(operation, undefined)
        t.notOk(answer.headers.has('x-scopegate-error'), 'the response comes from the API')
        t.notOk(answer.headers.has('www-authenticate'), 'the response has no challenge')
        const isWrite = operation.method !== 'GET'
        t.ok((isWrite ? [403] : [200, 404]).includes(answer.status), `${answer.status} ${answer.text}`)
        if (isWrite) t.match(answer.json, { error: 'access_denied', error_description: String })
      })
    }
  })
}

function operationsOf({ routes }: Policy): readonly Operation[] {
  return routes.flatMap(({ match, scopes }) =>
    match.methods.map((method) => {
      const asked = [...(scopes?.all ?? []), ...(scopes?.any ?? [])]
      if (asked.length !== 1) throw new Error(`${method} ${match.path} asks for ${asked.length} scopes`)
      return { method, path: match.path, scope: String(asked[0]), title: `${method} ${match.path}` }
    }),
  )
}

/**
 * Obtains the tokens of `only` and `allBut` in one browser session. Each token of `only` needs one authorization. The
 * tokens of `allBut` come from refreshes of one grant with all scopes.
 */
async function obtainAllTokens(): Promise<void> {
  for (const scope of resourceScopes) {
    const { accessToken } = await client.obtainTokens({ browser, scope })
    only.set(scope, accessToken)
  }
  const everything = { browser, scope: resourceScopes.join(' '), person: { ticks: 'all' } } as const
  let { refreshToken } = await client.obtainTokens(everything)
  for (const scope of resourceScopes) {
    const others = resourceScopes.filter((other) => other !== scope).join(' ')
    const tokens = client.readTokens(await client.refresh(refreshToken, { scope: others }))
    allBut.set(scope, tokens.accessToken)
    refreshToken = tokens.refreshToken
  }
}

/** Performs an operation, and checks its effect. The operation must succeed. */
async function perform(
  t: Test,
  operation: Operation,
  operations: readonly Operation[],
  token: string | undefined,
): Promise<Answer> {
  const { method, path } = operation
  if (method === 'GET')
    return attempt(operation, token, path.includes('{') ? await anyId(operations) : undefined)

  const existing = await readExisting(operations)
  if (method === 'POST') return createOne(operations, existing, token)

  const id = path.includes('{') ? idOf(await createOne(operations, existing, token)) : undefined
  if (method === 'DELETE') {
    const answer = await attempt(operation, token, id)
    t.equal((await readBack(operations, id)).status, 404, 'the resource is deleted')
    return answer
  }
  const current = (await readBack(operations, id)).json
  const schema = requestSchema(api, method, path)
  const change = oneChange(schema, current)
  const body = method === 'PATCH' ? change : { ...likeExisting(schema, current), ...change }
  const answer = await attempt(operation, token, id, body)
  t.match((await readBack(operations, id)).json, change, 'the resource is changed')
  return answer
}

/** Sends an operation with `id` in its path, with any token. */
function attempt(
  { method, path }: Operation,
  token: string | undefined,
  id = 'none',
  json?: unknown,
): Promise<Answer> {
  const url = `${scopegate.baseUrl}${path.replace(/\{\w+\}/, id)}`
  const body = method === 'GET' || method === 'DELETE' ? {} : { json: json ?? {} }
  return send(url, { method, token, ...body })
}

/** Creates a copy of an existing resource. The API reports each value that must be unique. */
async function createOne(
  operations: readonly Operation[],
  existing: Readonly<Record<string, unknown>>,
  token: string | undefined,
): Promise<Answer> {
  const operation = find(operations, 'POST')
  let body = likeExisting(requestSchema(api, 'POST', operation.path), existing)
  for (let tries = 0; ; tries++) {
    const answer = await attempt(operation, token, undefined, body)
    const taken = /^(\w+):/.exec(String(answer.json['error_description']))?.[1]
    if (answer.status !== 409 || taken === undefined || tries === MAX_TRIES) return answer
    body = { ...body, [taken]: vary(body[taken]) }
  }
}

/** Returns the first list item of the family. A singleton family has only one resource. */
async function readExisting(operations: readonly Operation[]): Promise<Readonly<Record<string, unknown>>> {
  const list = operations.find(({ method, path }) => method === 'GET' && !path.includes('{'))
  if (list === undefined) throw new Error('the family has nothing to read')
  const answer = await attempt(list, only.get(list.scope))
  const lists = Object.values(answer.json).filter((value) => Array.isArray(value))
  return lists[0]?.[0] ?? answer.json
}

function readBack(operations: readonly Operation[], id: string | undefined): Promise<Answer> {
  const read = operations.find(
    ({ method, path }) => method === 'GET' && path.includes('{') === (id !== undefined),
  )
  if (read === undefined) throw new Error('the family has no operation that reads one resource')
  return attempt(read, only.get(read.scope), id)
}

async function anyId(operations: readonly Operation[]): Promise<string> {
  return String((await readExisting(operations))['id'])
}

function idOf(created: Answer): string {
  if (created.status !== 201) throw new Error(`creating answered ${created.status}: ${created.text}`)
  return String(created.json['id'])
}

function find(operations: readonly Operation[], wanted: string): Operation {
  const found = operations.find(({ method }) => method === wanted)
  if (found === undefined) throw new Error(`the family has no ${wanted}`)
  return found
}

function nextScope(scope: string): string {
  return String(resourceScopes[(resourceScopes.indexOf(scope) + 1) % resourceScopes.length])
}

function readYaml(path: string): unknown {
  return parse(readFileSync(join(root, path), 'utf8'))
}
