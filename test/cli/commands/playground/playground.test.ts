import { once } from 'node:events'
import { readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { request } from 'node:http'
import { join } from 'node:path'
import t from 'tap'
import { BODY_LIMIT_BYTES } from '../../../../cli/commands/playground/form-limits.ts'
import { readExample, readProject } from '../../../../cli/commands/playground/initial-files.ts'
import { startPlayground } from '../../../../cli/commands/playground/playground-server.ts'
import { main } from '../../../../cli/main.ts'
import { aTerminal } from '../../../fixtures/a-terminal.ts'
import { type Answer, send } from '../../../fixtures/send.ts'

const POLICY = 'policies/courses.policy.yaml'
const DENIED = 'PATCH /api/courses/42 --scope courses:read'
const example = readExample().files
const server = await startPlayground({ port: 0, input: readExample() })
t.teardown(() => server.close())

type Files = readonly { readonly name: string; readonly text: string }[]

/** Posts the form as a browser does. */
function post(files: Files, explained = DENIED, headers: Readonly<Record<string, string>> = {}) {
  const [name, text] = [files.map((one) => one.name), files.map((one) => one.text)]
  return send(server.url, { form: { name, text, request: explained }, headers })
}

/** Returns the example with another policy. */
function withPolicy(change: (text: string) => string, more: Files = []): Files {
  return [...example.map((one) => (one.name === POLICY ? { ...one, text: change(one.text) } : one)), ...more]
}

/** Returns the visible text of the status and the results. */
function resultsOf({ text }: Pick<Answer, 'text'>): string {
  const results = /<p id="status"[\s\S]*?<\/form>/.exec(text)?.[0] ?? ''
  return results
    .replace(/<[^>]*>/g, '')
    .replace(/&#(\d+);/g, (_all, code: string) => String.fromCharCode(Number(code)))
}

async function say(args: readonly string[], folder?: string) {
  const terminal = aTerminal(folder === undefined ? {} : { folder })
  const code = await main(args, terminal)
  return { code, ...terminal.said }
}

t.test('the page contains the output of check and explain for the same files', async (t) => {
  const folder = t.testdir({})
  await say(['init'], folder)
  const before = readAll(folder)
  const here = (text: string) => text.replaceAll(`${folder.slice(process.cwd().length + 1)}/`, '')
  const explained = await say(['explain', ...DENIED.split(' '), '--config', 'config'], folder)
  const own = await startPlayground({ port: 0, input: { ...(await readProject(folder)), request: DENIED } })
  t.teardown(() => own.close())
  const page = resultsOf(await send(own.url))
  t.ok(page.includes(here(explained.out)), page)
  t.match(page, /^ok: 1 policy, 3 routes/)
  t.match(
    page,
    'HTTP/1.1 403 Forbidden\ncontent-type: application/json\nwww-authenticate: Bearer error="insufficient_scope"',
  )
  t.match(page, /\{"error":"insufficient_scope",.*"scope":"courses:write"\}/)

  const broken = resultsOf(
    await post(withPolicy((text) => text.replace('[courses:write]', '[curses:write]'))),
  )
  writeFileSync(join(folder, POLICY), before[POLICY]?.replace('[courses:write]', '[curses:write]') ?? '')
  const checked = here((await say(['check', '--config', 'config'], folder)).out)
  const [problem = ''] = checked.split('\n\n')
  t.match(problem, /^error\[P201\].*\n.*courses\.policy\.yaml:25:21\n[\s\S]*did you mean/)
  t.ok(broken.includes(problem), broken)
  t.match(broken, 'Correct the errors in the files.')
  writeFileSync(join(folder, POLICY), before[POLICY] ?? '')
  t.same(readAll(folder), before, 'the playground writes no files')
})

function readAll(folder: string): Readonly<Record<string, string>> {
  const files = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((one) => one.isFile())
  return Object.fromEntries(
    files.map(({ parentPath, name }) => {
      const file = join(parentPath, name)
      return [file.slice(folder.length + 1), readFileSync(file, 'utf8')]
    }),
  )
}

t.test(
  'the request has the syntax of a command line, and an invalid request gets its usage error',
  async (t) => {
    for (const [text, expected] of [
      ['scopegate explain GET /api/courses', /allow, as anonymous/],
      [
        "GET /api/courses/7 \\\n  --claim 'scope=courses:read openid'",
        /forwards the request to learning-platform/,
      ],
      ['GET', /takes METHOD PATH/],
      ['GET /api/courses --scoop a', /did you mean --scope\?/],
      ['GET /api/courses --claim "sub', /quotation mark \("\) has no partner/],
      ['GET /api/courses --claim scope=7', /the claims are not valid in a token/],
      ['GET /api/courses --url http://127.0.0.1:9', /has no option --url/],
      ['GET /api/courses --token -', /has no option --token/],
      ['<b>T /', /is not an HTTP method/],
    ] as const)
      t.match(resultsOf(await post(example, text)), expected, text)
  },
)

t.test('rejects requests of other pages, other hosts and other paths', async (t) => {
  const { origin, host, pathname } = new URL(server.url)
  t.match(pathname, /^\/[\w-]{22}\/$/)
  t.equal((await send(origin)).status, 404)
  t.equal((await send(`${origin}/playground/`)).status, 404)
  for (const headers of [
    { origin: 'http://attacker.example' },
    { origin: 'null' },
    { origin: `https://${host}` },
    { 'sec-fetch-site': 'cross-site' },
  ])
    t.equal((await statusOf({ method: 'POST', ...headers })).status, 403, JSON.stringify(headers))
  for (const name of ['attacker.example', `attacker.example:${new URL(origin).port}`])
    t.equal((await statusOf({ method: 'GET', host: name })).status, 421, name)
  t.equal((await statusOf({ method: 'GET', host: 'localhost' })).status, 200)
  t.equal((await post(example, DENIED, { origin, 'sec-fetch-site': 'same-origin' })).status, 200)
})

/** Sends a request with headers that `fetch` does not send. */
async function statusOf({ method, ...headers }: { method: string } & Readonly<Record<string, string>>) {
  const sent = request(server.url, { method, headers, agent: false })
  sent.end()
  const [response] = await once(sent, 'response')
  response.resume()
  return { status: response.statusCode as number }
}

t.test('rejects invalid forms, and file names outside of the folder', async (t) => {
  t.equal((await send(server.url, { json: {} })).status, 415)
  t.equal((await send(server.url, { form: { name: ['a.yaml'], text: [] } })).status, 400)
  t.equal((await send(server.url, { form: { request: 'x'.repeat(BODY_LIMIT_BYTES) } })).status, 413)
  for (const name of [
    '../a.yaml',
    'a/../../b.yaml',
    '/etc/a.yaml',
    'policies\\a.yaml',
    '.hidden.yaml',
    'passwd',
  ])
    t.equal((await post([{ name, text: '' }])).status, 400, name)
  t.equal((await post([example[0] ?? { name: '', text: '' }, ...example])).status, 400, 'a name twice')
})

t.test('configuration in the form reads no file of this machine', async (t) => {
  const outside = t.testdir({ 'scopes.yaml': 'secret-text', 'a.policy.yaml': 'secret-text' })
  const gateway = (lines: string) =>
    example.map((one) =>
      one.name === 'config/gateway.yaml'
        ? { ...one, text: `${one.text.replace(/^(scopes|policies):.*$/gm, '')}\n${lines}\n` }
        : one,
    )
  for (const lines of [
    `scopes: ${outside}/scopes.yaml`,
    `policies: ${outside}`,
    `policySources: [{ name: a, folder: ${outside}, permissions: { pathPrefixes: [/a], upstreams: [learning-platform], scopes: ["a:*"] } }]`,
  ]) {
    const page = resultsOf(await post(gateway(lines)))
    t.match(page, /error\[/, lines)
    t.notMatch(page, 'secret-text', lines)
  }
})

t.test('adds and removes files, and shows the page of a code', async (t) => {
  const [first, ...rest] = example
  const form = { name: rest.map(({ name }) => name), text: rest.map(({ text }) => text), request: 'GET /' }
  const added = await send(server.url, { form: { ...form, new: 'policies/a.policy.yaml', add: 'yes' } })
  t.match(added.text, 'data-file="policies/a.policy.yaml"')
  t.match((await send(server.url, { form: { ...form, new: '../a.yaml', add: 'yes' } })).status, 400)
  const removed = await send(server.url, { form: { ...form, remove: rest[0]?.name } })
  t.notMatch(removed.text, `data-file="${rest[0]?.name}"`)
  t.match(removed.text, `data-file="${rest[1]?.name}"`)
  const broken = await post([...rest, { name: first?.name ?? '', text: 'a' }])
  const [, link] = /href="(errors\/P\d{3})"/.exec(broken.text) ?? []
  t.match(await send(`${server.url}${link}`), { status: 200, text: /<h1>.*<\/h1>/ })
  for (const code of ['P999', '..%2f..%2fREADME', '..'])
    t.equal((await send(`${server.url}errors/${code}`)).status, code === '..' ? 200 : 404, code)
})

t.test('escapes texts, and keeps them unchanged in the form', async (t) => {
  const text = '\n</textarea><script>alert(1)</script>\n"\'&amp;\n'
  const { text: page } = await post([{ name: 'policies/<i>.policy.yaml', text }], '"</textarea><b>" /')
  t.notMatch(page, /<script>alert|<b>|<i>/)
  t.ok(page.includes('>\n\n&#60;/textarea&#62;&#60;script&#62;'), 'the first line break is doubled')
})

t.test('hostile texts get a response within the limits', async (t) => {
  const letters = [...'abcdefghij']
  const hostile = {
    aliases: letters.map(
      (one, at) => `${one}: &${one} [${Array(9).fill(at === 0 ? 'x' : `*${letters[at - 1]}`)}]`,
    ),
    deep: ['['.repeat(20_000)],
    wide: Array(5_000).fill('- a: { b: [1, 2, 3] }'),
    large: ['x'.repeat(400_000)],
  }
  for (const [name, lines] of Object.entries(hostile)) {
    const answer = await post(withPolicy(() => lines.join('\n')))
    t.equal(answer.status, 200, name)
    t.match(resultsOf(answer), /^\d+ errors?|^The check takes longer/, name)
  }
  t.match(resultsOf(await post(example)), /^ok: 1 policy/)
})

t.test('reads a folder, but no file outside of it', async (t) => {
  const outside = t.testdir({
    'a.policy.yaml': 'secret-text',
    project: { config: {}, policies: {} },
    empty: {},
  })
  const project = join(outside, 'project')
  for (const { name, text } of example) writeFileSync(join(project, name), text)
  t.same(await readProject(project), { files: example, request: 'GET /api/courses' })
  symlinkSync(join(outside, 'a.policy.yaml'), join(project, 'policies/link.policy.yaml'))
  const { code, err } = await say(['playground', project])
  t.equal(code, 3)
  t.match(err, /the symbolic link leads outside[\s\S]*link\.policy\.yaml/)
  t.match(await say(['playground', join(outside, 'empty')]), {
    code: 3,
    err: /contains no config\/gateway\.yaml/,
  })
})

t.test('a port that is in use or invalid is an error', async (t) => {
  const { port } = new URL(server.url)
  t.match(await say(['playground', '--port', port]), {
    code: 1,
    err: /another program listens on 127\.0\.0\.1/,
  })
  t.match(await say(['playground', '--port', '70000']), { code: 2, err: /a number from 0 to 65535/ })
})
