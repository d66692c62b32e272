import { type ChildProcess, fork } from 'node:child_process'
import { generateKeyPairSync } from 'node:crypto'
import { chmodSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { calculateJwkThumbprint } from 'jose'
import t, { type Test } from 'tap'
import { cookieKeys } from '../../../authorization-server/keys/cookie-keys.ts'
import { createFileOnce } from '../../../authorization-server/keys/create-file-once.ts'
import {
  loadCookieKeys,
  loadGatewaySecrets,
  loadSecrets,
  parseClientSecrets,
  parseCookieKeys,
  parseGatewaySecrets,
} from '../../../authorization-server/keys/load-secrets.ts'
import {
  loadSigningKeys,
  makeSigningKeys,
  parseSigningKeys,
} from '../../../authorization-server/keys/signing-keys.ts'
import { parseNonceSecrets } from '../../../gateway/config/read-secrets.ts'
import { inUnwritableFolder } from '../../fixtures/in-unwritable-folder.ts'
import { aConfig } from '../../fixtures/start-authorization-server.ts'

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
    t.throws(() => parseSigningKeys(text, '/run/keys.json', { nowSeconds: 0 }), {
      code: 'ERR_SIGNING_KEYS',
      exitCode: 3,
      message: /\/run\/keys\.json/,
    })
})

const FORM =
  'The file must be a JSON Web Key Set with private keys: {"keys":[…]}. To generate keys, remove signingKeysFile.'

/** Returns the parsed keys, or the error message. The test fails if the message contains a part of a key. */
function readKeys(t: Test, document: unknown, algorithm?: 'EdDSA'): unknown {
  try {
    return parseSigningKeys(JSON.stringify(document), '/run/keys.json', { algorithm, nowSeconds: NOW })
  } catch (error) {
    const { code, message, cause } = error as Error & { readonly code: string }
    t.equal(code, 'ERR_SIGNING_KEYS')
    t.equal(cause, undefined, 'the error of a library may quote the key')
    for (const [, value] of JSON.stringify(document).matchAll(/"(?:d|p|q|dp|dq|qi|x|y|n)":"([\w-]{4,})/g))
      t.notMatch(message, value, 'the message contains no key material')
    return message
  }
}
const NOW = 1_800_000_000

t.test('parseSigningKeys() reports the fault of a key set, and returns a complete key set', async (t) => {
  const [ec, ed, rsa] = (await makeSigningKeys()).keys
  for (const [document, reason] of [
    [null, 'the file contains no keys'],
    [[], 'the file contains no keys'],
    [{ keys: {} }, 'the file contains no keys'],
    [{ keys: [] }, 'the file contains no keys'],
    [{ keys: [ec, 7] }, 'keys[1] is not a key'],
    [{ keys: [[]] }, 'keys[0] is not a key'],
    [{ keys: [{ d: 'd' }] }, 'keys[0] is not a key'],
    [{ keys: [{ kty: 'EC' }] }, 'keys[0] has no private part'],
    [{ keys: [{ ...ec, d: 7 }] }, 'keys[0] has no private part'],
    [{ keys: [{ ...ec, kid: '' }] }, 'keys[0].kid is not a text of 1 to 256 characters'],
    [{ keys: [rsa] }, 'a P-256 key for ES256 is missing'],
    [{ keys: [ed, rsa] }, 'a P-256 key for ES256 is missing'],
    [{ keys: [ec] }, 'an RSA key for RS256 is missing'],
  ] as const)
    t.equal(readKeys(t, document), `/run/keys.json: ${reason}. ${FORM}`)
  t.strictSame(readKeys(t, { keys: [rsa, ec], more: 1 }), { keys: [rsa, ec] })
  t.equal(
    readKeys(t, { keys: [ec, rsa] }, 'EdDSA'),
    `/run/keys.json: an Ed25519 key for accessTokens.algorithm is missing. ${FORM}`,
  )
  t.match(readKeys(t, { keys: [ec, rsa, ed] }, 'EdDSA'), { keys: [{}, {}, {}] })
})

t.test('parseSigningKeys() rejects a key if verifiers would reject its signatures', async (t) => {
  const [[ec, ed, rsa], [otherEc, otherEd, otherRsa]] = await Promise.all([namedKeys(), namedKeys()])
  const { x: otherX, y: otherY, d: otherD } = otherEc
  const small = generateKeyPairSync('rsa', { modulusLength: 1_024 }).privateKey.export({ format: 'jwk' })
  const p384 = generateKeyPairSync('ec', { namedCurve: 'P-384' }).privateKey.export({ format: 'jwk' })
  const x25519 = generateKeyPairSync('x25519').privateKey.export({ format: 'jwk' })
  const damaged =
    'is damaged: its private part does not match its public part. Restore this key from a backup, or remove it.'
  const unsupported =
    'has a type or an algorithm that the server does not support. Replace this key, or remove it.'
  for (const [key, fault] of [
    [{ ...ec, x: `${ec.x?.slice(0, -3)}AAA` }, damaged],
    [{ ...ec, x: otherX, y: otherY }, damaged],
    [{ ...ec, d: otherD }, damaged],
    [{ ...ec, d: 'd' }, damaged],
    [{ ...ec, d: `${ec.d}=` }, damaged],
    [{ ...ec, y: undefined }, damaged],
    [{ ...ed, x: otherEd.x }, damaged],
    [{ ...ed, d: otherEd.d }, damaged],
    [{ ...rsa, n: otherRsa.n }, damaged],
    [{ ...rsa, d: otherRsa.d, dp: otherRsa.dp, dq: otherRsa.dq }, damaged],
    [{ ...rsa, qi: undefined }, damaged],
    [{ ...rsa, n: 'AAAA' }, 'has fewer than 2048 bits. Replace this key, or remove it.'],
    [{ ...small, kid: 'bad' }, 'has fewer than 2048 bits. Replace this key, or remove it.'],
    [{ ...rsa, oth: [] }, 'has more than two primes (oth). Replace this key, or remove it.'],
    [{ ...ec, use: 'enc' }, 'is not for signatures (use). Remove this key.'],
    [{ ...ec, key_ops: ['verify'] }, 'is not for signatures (key_ops). Remove key_ops, or remove the key.'],
    [{ ...ec, alg: 'RS256' }, 'has an alg that does not belong to its type. Correct alg.'],
    [{ ...ec, alg: 'none' }, unsupported],
    [{ ...x25519, kid: 'bad' }, unsupported],
  ] as const) {
    const named = { ...key, kid: 'bad\u001b[31m' }
    const message = readKeys(t, { keys: [otherEc, otherRsa, named] })
    t.equal(message, `/run/keys.json: keys[2] (kid "bad\\u{1b}[31m") ${fault}`)
  }
  t.equal(
    readKeys(t, { keys: [ec, rsa, { ...otherEc, kid: 'ec' }] }),
    '/run/keys.json: keys[2] (kid "ec") has the kid of another key of the set. Give each key its own kid.',
  )
  t.match(
    readKeys(t, { keys: [ec, rsa, { ...ec, kid: undefined }, { ...ec, kid: undefined }] }),
    'has the kid of another key of the set',
    'the same key twice, without kid',
  )
  const usable = [
    ec,
    ed,
    rsa,
    { ...p384, kid: 'p384' },
    { ...otherEc, kid: 'e', use: undefined, key_ops: ['sign', 'verify'] },
  ]
  t.match(readKeys(t, { keys: usable }), { keys: usable.map(({ kid }) => ({ kid })) })
  t.match(
    readKeys(t, { keys: Array.from({ length: 65 }, () => ec) }),
    '/run/keys.json: the set has 65 keys, more than 64. Remove old keys.',
  )
})

async function namedKeys() {
  const [ec, ed, rsa] = (await makeSigningKeys()).keys
  if (ec === undefined || ed === undefined || rsa === undefined) throw new TypeError('three keys')
  return [
    { ...ec, kid: 'ec' },
    { ...ed, kid: 'ed' },
    { ...rsa, kid: 'rsa' },
  ] as const
}

t.test('makeSigningKeys() generates three private keys for signatures', async (t) => {
  const { keys } = await makeSigningKeys()
  t.strictSame(
    keys.map((key) => [Object.keys(key).toSorted().join(' '), key.kty, key.crv, key.alg, key['use']]),
    [
      ['alg crv d kid kty use x y', 'EC', 'P-256', 'ES256', 'sig'],
      ['alg crv d kid kty use x', 'OKP', 'Ed25519', 'Ed25519', 'sig'],
      ['alg d dp dq e kid kty n p q qi use', 'RSA', undefined, 'RS256', 'sig'],
    ],
  )
  for (const key of keys) t.equal(key.kid, await calculateJwkThumbprint({ ...key }), 'RFC 7638')
  t.equal(Buffer.from(keys[2]?.n ?? '', 'base64url').length, 256, 'RFC 7518 §3.3: 2048 bits')
})

t.test('each generated file has one line', async (t) => {
  const dataDir = t.testdir()
  await loadSigningKeys({ signingKeysFile: undefined, dataDir })
  await loadCookieKeys({ cookieKeysFile: undefined, dataDir })
  t.match(readFileSync(join(dataDir, 'signing-keys.json'), 'utf8'), /^\{"keys":\[.*\]\}\n$/)
  t.match(readFileSync(join(dataDir, 'cookie-keys'), 'utf8'), /^[\w-]{43}\n$/)
})

t.test('loadSigningKeys() names an unreadable key file of the operator', async (t) => {
  const missing = join(t.testdir(), 'missing.json')
  await t.rejects(loadSigningKeys({ signingKeysFile: missing, dataDir: t.testdirName }), {
    code: 'ERR_SECRET_FILE',
    message: `Cannot read ${missing} (signingKeysFile): ENOENT. Check that the file exists and that this user may read it.`,
    cause: { code: 'ENOENT' },
  })
})

t.test('loadSigningKeys() explains the solution when it cannot create the data folder', async (t) => {
  const dir = t.testdir({ file: 'not a folder' })
  await t.rejects(loadSigningKeys({ signingKeysFile: undefined, dataDir: join(dir, 'file', 'data') }), {
    code: 'ERR_DATA_DIR',
    message: `Cannot write ${dir}/file/data/signing-keys.json (ENOTDIR). Make the folder ${dir}/file/data writable for this user, or choose another data folder (dataDir, SCOPEGATE_DATA_DIR).`,
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
  const dir = t.testdir({
    short: 'short\n',
    empty: '\n',
    'one-short': `${newest}\nshort\n`,
    'long-31': 'n'.repeat(31),
    good: `${newest}\n\n  ${older} \n`,
  })
  for (const name of ['short', 'empty', 'one-short', 'long-31'])
    await t.rejects(loadCookieKeys({ cookieKeysFile: join(dir, name), dataDir: dir }), {
      code: 'ERR_COOKIE_KEYS',
      exitCode: 3,
      message: `${dir}/${name}: the file must contain one cookie key per line, newest first, each at least 32 characters long.`,
    })
  await t.rejects(loadCookieKeys({ cookieKeysFile: join(dir, 'missing'), dataDir: dir }), {
    code: 'ERR_SECRET_FILE',
    message: `Cannot read ${dir}/missing (cookieKeysFile): ENOENT. Check that the file exists and that this user may read it.`,
  })
  t.same(await loadCookieKeys({ cookieKeysFile: join(dir, 'good'), dataDir: dir }), [newest, older])
})

t.test('a file of secrets has at most 10 secrets, because each of them is compared', async (t) => {
  const lines = (count: number) => `${'k'.repeat(32)}\n`.repeat(count)
  t.equal(parseCookieKeys(lines(10), 'keys').length, 10)
  const error = {
    code: 'ERR_SECRET_FILE',
    exitCode: 3,
    message: 'keys: the file has 11 secrets, more than 10. Remove old secrets.',
  }
  t.throws(() => parseCookieKeys(lines(11), 'keys'), error)
  t.throws(() => parseGatewaySecrets(lines(11), 'keys'), error)
  t.throws(() => parseClientSecrets(lines(11), 'keys', 'integrations[0].clientSecretFile'), error)
  t.throws(() => parseNonceSecrets(lines(11), 'keys'), error)
})

t.test('loadCookieKeys() creates a key once', async (t) => {
  const dataDir = t.testdir()
  const keys = await loadCookieKeys({ cookieKeysFile: undefined, dataDir })
  t.same(await loadCookieKeys({ cookieKeysFile: undefined, dataDir }), keys)
  t.equal(statSync(join(dataDir, 'cookie-keys')).mode & 0o777, 0o600)
})

t.test('cookieKeys() rejects a changed value or signature, and identifies the signing key', async (t) => {
  const old = cookieKeys(() => ['o'.repeat(32)])
  const keys = cookieKeys(() => ['n'.repeat(32), 'o'.repeat(32)])
  const signature = old.sign('session=1')
  t.notOk(keys.verify('session=2', signature))
  t.notOk(keys.verify('session=1', `${signature}x`))
  t.notOk(keys.verify('session=1', ''))
  t.equal(keys.index('session=1', signature), 1)
  t.equal(keys.index('session=1', keys.sign('session=1')), 0)
  t.equal(cookieKeys(() => ['x'.repeat(32)]).index('session=1', signature), -1)
  t.throws(() => cookieKeys(() => []), new TypeError('cookieKeys() requires a key'))
  t.equal(
    cookieKeys(() => ['a key']).sign('data'),
    'M9s8m6VLGY8y9BxYaffb5sJ3xLVZo5qqdrHfTvlZjfg',
    'HMAC-SHA-256',
  )
  t.equal(keys.verify('session=1', signature), true, 'also by an older key')
})

t.test('loadGatewaySecrets() requires the file outside development mode', async (t) => {
  const dir = t.testdir({ short: 'x'.repeat(15), shortest: ` ${'x'.repeat(16)}\n` })
  const file = join(dir, 'gateway-client-secret')
  await t.rejects(loadGatewaySecrets({ file, development: false }), {
    code: 'ERR_SECRET_FILE',
    message: `Cannot read ${file} (gatewayClient.secretFile): ENOENT. Check that the file exists and that this user may read it.`,
  })
  await t.rejects(loadGatewaySecrets({ file: join(dir, 'short'), development: false }), {
    code: 'ERR_GATEWAY_SECRET',
    exitCode: 3,
    message: `${dir}/short (gatewayClient.secretFile): the file must contain one secret per line, newest first, each at least 16 characters long.`,
  })
  t.same(
    await loadGatewaySecrets({ file: join(dir, 'shortest'), development: false }),
    ['xxxxxxxxxxxxxxxx'],
    'spaces around the secret are ignored',
  )
  const [made = ''] = await loadGatewaySecrets({ file, development: true })
  t.match(made, /^[\w-]{43}$/)
  t.same(await loadGatewaySecrets({ file, development: false }), [made])
  writeFileSync(file, `${made}\n`)
  t.same(await loadGatewaySecrets({ file, development: false }), [made], 'a trailing line break is ignored')
  writeFileSync(file, `${'n'.repeat(16)}\n\n${made}\n`)
  t.same(await loadGatewaySecrets({ file, development: false }), ['n'.repeat(16), made], 'newest first')
})

t.test('the error names a folder without write permission', (t) =>
  inUnwritableFolder(t, async (dataDir) => {
    await t.rejects(loadSigningKeys({ signingKeysFile: undefined, dataDir }), {
      code: 'ERR_DATA_DIR',
      message: new RegExp(`Cannot write ${dataDir}/.* \\(EACCES\\)`),
    })
  }),
)

t.test('createFileOnce() reports an existing file that it cannot read', async (t) => {
  const dir = t.testdir({ folder: {} })
  await t.rejects(
    createFileOnce(join(dir, 'folder'), async () => 'new'),
    {
      code: 'ERR_SECRET_FILE',
      message: `Cannot read ${dir}/folder (generated once): EISDIR. Check that the file exists and that this user may read it.`,
      cause: { code: 'EISDIR' },
    },
  )
  t.same(readdirSync(dir), ['folder'])
})

t.test('createFileOnce() creates folders, ignores the umask, and leaves no temporary file', async (t) => {
  const folder = join(t.testdir(), 'a', 'b')
  const umask = process.umask(0o277)
  t.teardown(() => process.umask(umask))
  mkdirSync(join(t.testdirName, 'a'), { recursive: true })
  chmodSync(join(t.testdirName, 'a'), 0o700)
  mkdirSync(folder)
  chmodSync(folder, 0o700)
  t.equal(await createFileOnce(join(folder, 'file'), async () => 'content'), 'content')
  t.equal(statSync(join(folder, 'file')).mode & 0o777, 0o600)
  t.equal(await createFileOnce(join(folder, 'file'), async () => 'other'), 'content')
  await t.rejects(
    createFileOnce(join(folder, 'failed'), async () => {
      throw new Error('no code')
    }),
    {
      code: 'ERR_DATA_DIR',
      message: `Cannot write ${folder}/failed (unknown error). Make the folder ${folder} writable for this user, or choose another data folder (dataDir, SCOPEGATE_DATA_DIR).`,
      cause: { message: 'no code' },
    },
  )
  t.same(readdirSync(folder), ['file'])
})

t.test('createFileOnce() keeps the file that another process created first', async (t) => {
  const file = join(t.testdir(), 'file')
  const content = await createFileOnce(file, async () => {
    writeFileSync(file, 'of another process')
    return 'own'
  })
  t.equal(content, 'of another process')
  t.same(readdirSync(t.testdirName), ['file'])
})

t.test('loadSecrets() returns exactly the secrets of the configuration', async (t) => {
  const dataDir = t.testdir({ gateway: 'the secret of the gateway\n', app: ' of the app \n' })
  const config = await aConfig(dataDir, {
    development: false,
    gatewayClient: { id: 'gateway', secretFile: join(dataDir, 'gateway') },
    integrations: [
      {
        clientId: 'one',
        clientName: 'One',
        redirectUris: ['https://one.test/'],
        clientSecretFile: join(dataDir, 'app'),
      },
      {
        clientId: 'two',
        clientName: 'Two',
        redirectUris: ['https://two.test/'],
        clientSecretFile: undefined,
      },
    ],
  })
  const { signingKeys, cookieSecrets, ...secrets } = await loadSecrets(config)
  t.same(signingKeys, JSON.parse(readFileSync(join(dataDir, 'signing-keys.json'), 'utf8')))
  t.same(cookieSecrets, [readFileSync(join(dataDir, 'cookie-keys'), 'utf8').trim()])
  t.strictSame(secrets, {
    gatewaySecrets: ['the secret of the gateway'],
    canarySecrets: [],
    adminTokens: [],
    integrations: [
      {
        clientId: 'one',
        clientName: 'One',
        redirectUris: ['https://one.test/'],
        clientSecrets: ['of the app'],
      },
      { clientId: 'two', clientName: 'Two', redirectUris: ['https://two.test/'], clientSecrets: undefined },
    ],
    providers: [],
  })
  const missing = join(dataDir, 'missing')
  const [one] = config.integrations
  await t.rejects(
    loadSecrets({
      ...config,
      integrations: one === undefined ? [] : [{ ...one, clientSecretFile: missing }],
    }),
    {
      message: `Cannot read ${missing} (integrations[].clientSecretFile): ENOENT. Check that the file exists and that this user may read it.`,
    },
  )
})

t.test('secrets that two servers generate are different', async (t) => {
  const [one, other] = [join(t.testdir(), 'one'), join(t.testdirName, 'other')]
  for (const folder of [one, other]) mkdirSync(folder)
  const cookieKeysOf = (dataDir: string) => loadCookieKeys({ cookieKeysFile: undefined, dataDir })
  t.notSame(await cookieKeysOf(one), await cookieKeysOf(other))
  const secretOf = (folder: string) => loadGatewaySecrets({ file: join(folder, 'secret'), development: true })
  t.notSame(await secretOf(one), await secretOf(other))
})
