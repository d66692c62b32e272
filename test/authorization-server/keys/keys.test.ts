import { type ChildProcess, fork } from 'node:child_process'
import { mkdirSync, readdirSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { cookieKeys } from '../../../authorization-server/keys/cookie-keys.ts'
import { loadGatewaySecret } from '../../../authorization-server/keys/gateway-secret.ts'
import { loadCookieKeys } from '../../../authorization-server/keys/load-cookie-keys.ts'
import { loadSigningKeys, parseSigningKeys } from '../../../authorization-server/keys/signing-keys.ts'
import { inUnwritableFolder } from '../../fixtures/in-unwritable-folder.ts'

t.test('parseSigningKeys() rejects an invalid set of private keys, and names the file', async (t) => {
  const texts = [
    '',
    'x',
    'null',
    '[]',
    '{}',
    '{"keys":[]}',
    '{"keys":[7]}',
    '{"keys":[{"kty":"EC","crv":"P-256"}]}',
  ]
  for (const text of texts)
    t.throws(() => parseSigningKeys(text, '/run/keys.json'), {
      code: 'ERR_SIGNING_KEYS',
      exitCode: 3,
      message: /\/run\/keys\.json/,
    })
})

t.test('loadSigningKeys() names the operator’s key file that it cannot read', async (t) => {
  const missing = join(t.testdir(), 'missing.json')
  await t.rejects(loadSigningKeys({ signingKeysFile: missing, dataDir: t.testdirName }), {
    code: 'ERR_SECRET_FILE',
    message: new RegExp(`${missing} \\(signingKeysFile\\): ENOENT`),
  })
})

t.test('loadSigningKeys() says what to do when it cannot create the data folder', async (t) => {
  const dir = t.testdir({ file: 'not a folder' })
  await t.rejects(loadSigningKeys({ signingKeysFile: undefined, dataDir: join(dir, 'file', 'data') }), {
    code: 'ERR_DATA_DIR',
    message: /dataDir, SCOPEGATE_DATA_DIR/,
  })
})

t.test(
  'loadSigningKeys() creates ES256, Ed25519 and RS256 keys once, readable by the owner only',
  async (t) => {
    const dataDir = join(t.testdir(), 'data')
    const first = await loadSigningKeys({ signingKeysFile: undefined, dataDir })
    t.same(
      first.keys.map((key) => key.alg),
      ['ES256', 'Ed25519', 'RS256'],
    )
    t.same(await loadSigningKeys({ signingKeysFile: undefined, dataDir }), first)
    t.equal(statSync(join(dataDir, 'signing-keys.json')).mode & 0o777, 0o600)
    t.same(readdirSync(dataDir), ['signing-keys.json'], 'the folder contains no temporary file')
  },
)

t.test('loadSigningKeys() returns the same keys in concurrent processes', async (t) => {
  const dataDir = join(t.testdir(), 'data')
  mkdirSync(dataDir)
  const script = fileURLToPath(new URL('../../fixtures/load-signing-keys.ts', import.meta.url))
  const children: ChildProcess[] = Array.from({ length: 4 }, () => fork(script, [dataDir]))
  const thumbprints = await Promise.all(
    children.map((child) => new Promise<unknown>((resolve) => child.once('message', resolve))),
  )
  t.equal(new Set(thumbprints).size, 1)
  t.same(readdirSync(dataDir), ['signing-keys.json'])
})

t.test('loadCookieKeys() rejects short keys and reads one key per line, newest first', async (t) => {
  const newest = 'n'.repeat(32)
  const older = 'o'.repeat(43)
  const dir = t.testdir({ short: 'short\n', empty: '\n', good: `${newest}\n\n${older}\n` })
  for (const name of ['short', 'empty'])
    await t.rejects(loadCookieKeys({ cookieKeysFile: join(dir, name), dataDir: dir }), {
      code: 'ERR_COOKIE_KEYS',
      exitCode: 3,
    })
  t.same(await loadCookieKeys({ cookieKeysFile: join(dir, 'good'), dataDir: dir }), [newest, older])
})

t.test('loadCookieKeys() creates a key once', async (t) => {
  const dataDir = t.testdir()
  const keys = await loadCookieKeys({ cookieKeysFile: undefined, dataDir })
  t.same(await loadCookieKeys({ cookieKeysFile: undefined, dataDir }), keys)
  t.equal(statSync(join(dataDir, 'cookie-keys')).mode & 0o777, 0o600)
})

t.test('cookieKeys() rejects a changed value or signature, and identifies the signing key', async (t) => {
  const old = cookieKeys(['o'.repeat(32)])
  const keys = cookieKeys(['n'.repeat(32), 'o'.repeat(32)])
  const signature = old.sign('session=1')
  t.notOk(keys.verify('session=2', signature))
  t.notOk(keys.verify('session=1', `${signature}x`))
  t.notOk(keys.verify('session=1', ''))
  t.equal(keys.index('session=1', signature), 1)
  t.equal(keys.index('session=1', keys.sign('session=1')), 0)
  t.equal(cookieKeys(['x'.repeat(32)]).index('session=1', signature), -1)
  t.throws(() => cookieKeys([]), TypeError)
})

t.test('loadGatewaySecret() requires the file outside development mode', async (t) => {
  const dir = t.testdir({ short: 'x' })
  const file = join(dir, 'gateway-client-secret')
  await t.rejects(loadGatewaySecret({ file, development: false }), {
    code: 'ERR_SECRET_FILE',
    message: /gatewayClient\.secretFile/,
  })
  await t.rejects(loadGatewaySecret({ file: join(dir, 'short'), development: false }), {
    code: 'ERR_GATEWAY_SECRET',
  })
  const made = await loadGatewaySecret({ file, development: true })
  t.match(made, /^[\w-]{43}$/)
  t.equal(await loadGatewaySecret({ file, development: false }), made)
  writeFileSync(file, `${made}\n`)
  t.equal(await loadGatewaySecret({ file, development: false }), made, 'a trailing line break is ignored')
})

t.test('the error names a folder without write permission', (t) =>
  inUnwritableFolder(t, async (dataDir) => {
    await t.rejects(loadSigningKeys({ signingKeysFile: undefined, dataDir }), {
      code: 'ERR_DATA_DIR',
      message: new RegExp(`Cannot write ${dataDir}/.* \\(EACCES\\)`),
    })
  }),
)

t.test('secrets that two servers generate are different', async (t) => {
  const [one, other] = [join(t.testdir(), 'one'), join(t.testdirName, 'other')]
  for (const folder of [one, other]) mkdirSync(folder)
  const cookieKeysOf = (dataDir: string) => loadCookieKeys({ cookieKeysFile: undefined, dataDir })
  t.notSame(await cookieKeysOf(one), await cookieKeysOf(other))
  const secretOf = (folder: string) => loadGatewaySecret({ file: join(folder, 'secret'), development: true })
  t.not(await secretOf(one), await secretOf(other))
})
