import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { addKeys } from '../../../../authorization-server/keys/key-states.ts'
import {
  activeKeys,
  makeSigningKeys,
  type SigningKey,
  type SigningKeys,
} from '../../../../authorization-server/keys/signing-keys.ts'
import { main } from '../../../../cli/main.ts'
import { findPackageRoot } from '../../../../platform/process/package-root.ts'
import { aTerminal } from '../../../fixtures/a-terminal.ts'
import { recordCredential } from '../../../fixtures/capture.ts'

const CONFIG = join(findPackageRoot(), 'config')
const first = await makeSigningKeys()
const second = await makeSigningKeys()
for (const { d, p, q } of [...first.keys, ...second.keys] as readonly SigningKey[])
  for (const secret of [d, p, q]) if (secret !== undefined) recordCredential(secret)

const now = () => Math.floor(Date.now() / 1_000)
/** Returns the keys of `first` and `second`. The keys of `second` sign from the time `signsFrom` in epoch seconds. */
const rotated = (signsFrom: number): SigningKeys =>
  addKeys(first, second.keys, { nowSeconds: signsFrom - 1, accessTokenSeconds: 900, signsFrom })

/** Runs a `keys` command on a file in the folder of the test. */
async function run(t: Test, file: string, command: string, ...args: string[]) {
  const terminal = aTerminal({ folder: t.testdirName })
  const code = await main(['keys', command, '--config', CONFIG, '--file', file, ...args], terminal)
  const { out, err } = terminal.said
  t.notMatch(out + err, /"(?:d|p|q|dp|dq|qi)"/, 'no private member')
  for (const { d = '' } of [...first.keys, ...second.keys]) t.notMatch(out + err, d, 'no private member')
  return { code, out, err, json: args.includes('--json') ? JSON.parse(out || '{}') : undefined }
}

function write(t: Test, set: SigningKeys): string {
  const file = join(t.testdir(), 'keys.json')
  writeFileSync(file, JSON.stringify(set))
  return file
}
const read = (file: string): SigningKeys => JSON.parse(readFileSync(file, 'utf8'))
const kids = (set: SigningKeys) => set.keys.map(({ kid }) => kid)

/** Starts an HTTP server that calls `respond` for each request. Returns its URL. */
async function serve(t: Test, respond: (response: ServerResponse) => void): Promise<string> {
  const server = createServer((_, response) => respond(response))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => {
    server.close()
    server.closeAllConnections()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

/** Starts a server that publishes a key set in the format of the authorization server. */
function publish(t: Test, set: SigningKeys, headers: Readonly<Record<string, string>> = {}): Promise<string> {
  const keys = activeKeys(set, now()).keys.map(({ kty, kid, alg, crv }) => ({ kty, kid, alg, crv }))
  return serve(t, (response) => response.writeHead(200, headers).end(JSON.stringify({ keys })))
}

t.test('rotate adds a key for each algorithm, and list shows the plan', async (t) => {
  const file = write(t, { ...first, note: 'kept' } as SigningKeys)
  const before = now()
  const { code, out, err } = await run(t, file, 'rotate')
  t.equal(code, 0, err)
  const set = read(file)
  t.strictSame((set as { note?: unknown }).note, 'kept')
  const added = set.keys.slice(3)
  t.same(
    added.map(({ alg }) => alg),
    ['ES256', 'Ed25519', 'RS256'],
  )
  const [signsFrom = 0] = added.map(({ notBefore }) => notBefore)
  t.ok(signsFrom >= before + 600 && signsFrom <= now() + 601)
  t.same(new Set(set.keys.slice(0, 3).map(({ retireAfter }) => retireAfter)), new Set([signsFrom + 1_260]))
  const time = new Date(signsFrom * 1_000).toISOString().replace('.000Z', 'Z')
  const retireTime = new Date((signsFrom + 1_260) * 1_000).toISOString().replace('.000Z', 'Z')
  t.equal(
    out,
    `scopegate: added 3 keys to ${file}. They sign from ${time}.
  ES256    ${added[0]?.kid}
  Ed25519  ${added[1]?.kid}
  RS256    ${added[2]?.kid}
Before ${time}, check that every server publishes each new key: scopegate keys list --url URL
Retire the old keys from ${retireTime}: scopegate keys retire --url URL
`,
  )
  const audits = err
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line))
  t.match(audits[0], {
    event: 'audit',
    action: 'signing_key_added',
    kid: added[0]?.kid,
    alg: 'ES256',
    not_before: time,
    file,
  })
  t.equal(audits.length, 3)
  t.same(readdirSync(t.testdirName), ['keys.json'])

  const again = await run(t, file, 'rotate', '--alg', 'ES256')
  t.same([again.code, again.out], [1, ''])
  t.equal(
    again.err,
    `scopegate: the key ${added[0]?.kid} (ES256) is already scheduled to sign from ${time}. Nothing was changed.\n`,
  )
  t.same(read(file), set)

  const listed = await run(t, file, 'list')
  t.equal(listed.code, 0, listed.err)
  const lines = listed.out.split('\n')
  t.match(lines[0], /^KID +ALG +STATE +SIGNS FROM +SIGNS UNTIL +RETIRE FROM$/)
  t.match(lines[1], new RegExp(`^${first.keys[0]?.kid} +ES256 +signs +- +${time} +${retireTime}$`))
  t.match(lines[2], new RegExp(`^${added[0]?.kid} +ES256 +next +${time} +- +-$`))
  t.match(listed.out, `\n6 keys in ${file}\n`)
})

t.test(
  'rotate keeps the set of algorithms, and replaces only the keys of the selected algorithms',
  async (t) => {
    const file = write(t, {
      keys: first.keys.map((key) => (key.crv === 'Ed25519' ? { ...key, alg: 'EdDSA' } : key)),
    })
    const { code, json } = await run(t, file, 'rotate', '--alg', 'Ed25519', '--in', '6m', '--json')
    t.equal(code, 0)
    const added = read(file).keys.slice(3)
    t.same(
      added.map(({ alg, crv }) => [alg, crv]),
      [['EdDSA', 'Ed25519']],
    )
    t.same(Object.keys(json), ['file', 'signsFrom', 'retireFrom', 'added'])
    t.same(json.added, [{ kid: added[0]?.kid, alg: 'Ed25519' }])
    t.equal(Date.parse(json.retireFrom) - Date.parse(json.signsFrom), 1_260_000)
  },
)

t.test('rotate rejects a wrong time, a missing file and a set that is not valid', async (t) => {
  const file = write(t, { keys: first.keys.map((key) => ({ ...key, d: 'd' })) })
  for (const [lead, reason] of [
    ['359s', '--in must be at least 6m: clients and gateways cache the published keys for 5 minutes'],
    ['31d', '--in must be at most 30d'],
    ['soon', '--in takes a duration such as 10m, not "soon"'],
  ] as const) {
    const { code, err } = await run(t, file, 'rotate', '--in', lead)
    t.equal(code, 2)
    t.equal(err, `scopegate: ${reason}. See: scopegate keys rotate --help\n`)
  }
  for (const command of ['rotate', 'list', 'retire']) {
    const damaged = await run(t, file, command)
    t.equal(damaged.code, 3)
    t.match(damaged.err, `${file}: keys[0] (kid "${first.keys[0]?.kid}") is damaged`)
    const missing = await run(t, join(t.testdirName, 'missing.json'), command)
    t.equal(missing.code, 1)
    t.match(missing.err, 'missing.json does not exist. Start the authorization server once')
  }
})

t.test('retire removes only keys without unexpired tokens', async (t) => {
  const file = write(t, rotated(now() - 100))
  const early = await run(t, file, 'retire')
  t.equal(early.code, 0)
  t.match(early.out, /^scopegate: no key to retire\. You can retire [\w-]{43} from \d{4}-.*Z\.\n$/)
  t.equal(
    early.err,
    'scopegate: running servers were not checked. To check the servers, give --url for each server.\n',
  )
  const [old = ''] = kids(first)
  const refused = await run(t, file, 'retire', old)
  t.same([refused.code, refused.out], [1, ''])
  t.match(refused.err, new RegExp(`^scopegate: tokens of ${old} can be valid until \\d{4}-`, 'm'))
  t.same(kids(read(file)), [...kids(first), ...kids(second)])
  const forced = await run(t, file, 'retire', '--force', '--json', '--', old)
  t.equal(forced.code, 0)
  t.same(forced.json.retired, [{ kid: old, alg: 'ES256' }])
  t.match(forced.err, '"action":"signing_key_retired"')
  t.match(forced.err, 'Gateways accept JWTs of these keys until they fetch the keys again')

  writeFileSync(file, JSON.stringify(rotated(now() - 1_260)))
  const { code, out } = await run(t, file, 'retire')
  t.equal(code, 0)
  t.match(out, `scopegate: retired 3 keys of ${file}: ${kids(first)[0]} (ES256), `)
  t.same(kids(read(file)), kids(second))
})

t.test('retire removes either all named keys or no key, and never removes the signing key', async (t) => {
  const file = write(t, rotated(now() + 600))
  const [next = ''] = kids(second)
  const [signing = ''] = kids(first)
  const { code, json, err } = await run(
    t,
    file,
    'retire',
    '--force',
    '--json',
    '--',
    next,
    signing,
    'missing',
  )
  t.equal(code, 1)
  t.same(json, {
    file,
    retired: [],
    kept: [
      { kid: signing, reason: 'signs', url: null, from: null },
      { kid: 'missing', reason: 'unknown', url: null, from: null },
    ],
  })
  t.match(err, `scopegate: ${signing} signs ES256 now. Rotate first: scopegate keys rotate\n`)
  t.equal(read(file).keys.length, 6)
  t.equal((await run(t, file, 'retire', '--', ...kids(second).map(String))).code, 0, 'cancels the rotation')
  t.strictSame(read(file), first)
})

t.test('list and retire compare the file with running servers', async (t) => {
  const set = rotated(now() - 2_000)
  const file = write(t, set)
  const current = await publish(t, set)
  const agrees = await run(t, file, 'list', '--url', `${current}/`, '--json')
  t.equal(agrees.code, 0, agrees.err)
  t.same(agrees.json.keys[0].publishedBy, [current])
  t.match(agrees.json.servers, [{ url: current, failed: null, signs: { ES256: kids(second)[0] } }])

  const late = await publish(t, first)
  const wrongClock = await publish(t, set, { date: new Date(Date.now() + 100_000).toUTCString() })
  const listed = await run(t, file, 'list', '--url', current, '--url', late, '--url', wrongClock)
  t.equal(listed.code, 1)
  t.match(listed.out, /^[\w-]{43} +ES256 +signs .* 2\/3$/m)
  t.match(listed.err, `scopegate: ${late} does not publish ${kids(second)[0]} yet\n`)
  t.match(
    listed.err,
    `scopegate: ${late} signs ES256 with ${kids(first)[0]}, but this file requires ${kids(second)[0]}\n`,
  )
  t.match(listed.err, new RegExp(`scopegate: the clock of ${wrongClock} differs by (99|100) s`))
  const refused = await run(t, file, 'retire', '--force', '--url', late)
  t.equal(refused.code, 1)
  t.match(refused.err, `scopegate: ${late} still signs ES256 with ${kids(first)[0]}: its file is not current`)
  t.match(refused.err, `scopegate: ${late} does not publish the key that replaces ${kids(first)[0]}`)
  t.equal(read(file).keys.length, 6)
  t.equal((await run(t, file, 'retire', '--url', wrongClock)).code, 1)
  const retired = await run(t, file, 'retire', '--url', current)
  t.equal(retired.code, 0, retired.err)
  t.same(kids(read(file)), kids(second))
  const more = await run(t, file, 'list', '--url', current)
  t.equal(more.code, 1)
  t.match(more.err, `scopegate: ${current} publishes ${kids(first)[0]}, which is not in this file\n`)
})

t.test('list and retire name a server that does not show its keys', async (t) => {
  const file = write(t, rotated(now() - 2_000))
  const ends = await serve(t, (response) => response.destroy())
  const redirects = await serve(t, (response) => response.writeHead(302, { location: ends }).end())
  const long = await serve(t, (response) => response.end('x'.repeat(1_100_000)))
  const html = await serve(t, (response) => response.end('<html>'))
  const foreign = await serve(t, (response) => response.end('{"keys":[{"kty":"EC","kid":7}]}'))
  const urls = [ends, redirects, long, html, foreign]
  const listed = await run(t, file, 'list', '--json', ...urls.flatMap((url) => ['--url', url]))
  t.equal(listed.code, 1)
  t.match(
    listed.json.servers.map(({ failed }: { failed: string }) => failed),
    [
      /^did not respond: /,
      'responded with status 302',
      /longer than/,
      'responded without a key set',
      'responded without a key set',
    ],
  )
  t.equal((await run(t, file, 'retire', '--url', redirects)).code, 1)
  t.equal((await run(t, file, 'retire', '--url', redirects, '--force')).code, 0)
  const usage = await run(t, file, 'list', '--url', 'file:///etc/passwd')
  t.equal(usage.code, 2)
})

t.test('list and retire escape control characters in a kid', async (t) => {
  const [ec, ...others] = first.keys
  const file = write(t, { keys: [{ ...ec, kty: 'EC', kid: 'evil\u001b[2J\u202e' }, ...others] })
  const hostile = await serve(t, (response) =>
    response.end(JSON.stringify({ keys: [{ kty: 'EC', kid: '\u001b]0;title\u0007' }] })),
  )
  for (const [command, ...args] of [
    ['list'],
    ['list', '--url', hostile],
    ['rotate'],
    ['retire', 'evil\u001b[2J\u202e'],
  ] as const) {
    const { out, err } = await run(t, file, command, ...args)
    for (const character of ['\u001b', '\u0007', '\u202e']) t.notOk((out + err).includes(character))
  }
})

t.test('list reports the temporary file of an interrupted command', async (t) => {
  const file = write(t, first)
  writeFileSync(`${file}.123-0123456789ab`, '')
  const { code, err } = await run(t, file, 'list')
  t.equal(code, 0)
  t.equal(
    err,
    `scopegate: ${file}.123-0123456789ab is left from an interrupted command and contains private keys. Remove it.\n`,
  )
})

t.test('without --file, the command uses the data folder of scopegate dev or of --data', async (t) => {
  const folder = t.testdir({ '.scopegate': { 'signing-keys.json': JSON.stringify(first) } })
  const list = async (...args: string[]) => {
    const terminal = aTerminal({ folder })
    return { code: await main(['keys', 'list', ...args], terminal), ...terminal.said }
  }
  t.match(await list(), { code: 0, out: `3 keys in ${folder}/.scopegate/signing-keys.json` })
  t.match(await list('--data', '.scopegate'), { code: 0 })
  t.match(await list('--data', 'other'), { code: 1, err: 'other/signing-keys.json does not exist' })
})
