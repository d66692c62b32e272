import {
  chmodSync,
  linkSync,
  readdirSync,
  readFileSync,
  renameSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { createJwksFileCache } from '../../../../gateway/tokens/jwt/jwks-file-cache.ts'
import { aKey } from '../../../fixtures/jwk.ts'

const NOW = 1_800_000_000_000
const COPY = { fetchedAtMs: NOW - 1_000, jwks: { keys: [aKey('ES256', 'a').jwk] } }

async function aCopy(t: Test) {
  const dir = join(t.testdir({}), 'below', 'data')
  const copy = createJwksFileCache({ dir, id: 'config-1', nowMs: () => NOW })
  await copy.write(COPY)
  return { dir, copy, file: join(dir, 'issuer-keys-config-1.json') }
}

t.test('reading a cache file returns the written keys, and only the owner can access the file', async (t) => {
  const { dir, copy, file } = await aCopy(t)
  t.same(await copy.read(), COPY)
  t.equal(statSync(file).mode & 0o777, 0o600)
  t.equal(statSync(dir).mode & 0o777, 0o700)
  t.same(readdirSync(dir), ['issuer-keys-config-1.json'], 'no temporary file remains')
})

t.test('20 concurrent writers leave one complete file', async (t) => {
  const { dir, copy } = await aCopy(t)
  await Promise.all(Array.from({ length: 20 }, () => copy.write(COPY)))
  t.same(await copy.read(), COPY)
  t.equal(readdirSync(dir).length, 1)
})

t.test('the cache file is missing at first, and stays missing if writes fail', async (t) => {
  const dir = t.testdir({ file: '' })
  t.equal(await createJwksFileCache({ dir, id: 'x', nowMs: () => NOW }).read(), undefined)
  const nowhere = [join(dir, 'file'), ...(process.platform === 'linux' ? ['/proc/x'] : [])]
  for (const folder of nowhere)
    await t.rejects(createJwksFileCache({ dir: folder, id: 'x', nowMs: () => NOW }).write(COPY))
})

t.test('a file of another configuration is not read', async (t) => {
  const { dir, file } = await aCopy(t)
  renameSync(file, join(dir, 'issuer-keys-config-2.json'))
  t.equal(await createJwksFileCache({ dir, id: 'config-2', nowMs: () => NOW }).read(), undefined)
})

t.test('a file with a time in the future is not read, because it would not expire in time', async (t) => {
  const { dir } = await aCopy(t)
  t.equal(await createJwksFileCache({ dir, id: 'config-1', nowMs: () => NOW - 2_000 }).read(), undefined)
})

const turnIntoLink = (file: string) => {
  renameSync(file, `${file}.real`)
  symlinkSync(`${file}.real`, file)
}

const SPOILT: readonly (readonly [what: string, spoil: (file: string) => void])[] = [
  ['that other users can write', (file) => chmodSync(file, 0o602)],
  ['that its group can write', (file) => chmodSync(file, 0o660)],
  ['that is a symbolic link', turnIntoLink],
  ['that has a second hard link', (file) => linkSync(file, `${file}.other`)],
  ['that is truncated', (file) => writeFileSync(file, readFileSync(file, 'utf8').slice(0, -20))],
  ['that is empty', (file) => writeFileSync(file, '')],
  ['that is null', (file) => writeFileSync(file, 'null')],
  ['above the size limit', (file) => writeFileSync(file, ' '.repeat(700_000))],
  [
    'of another version',
    (file) => writeFileSync(file, JSON.stringify({ ...COPY, version: 2, id: 'config-1' })),
  ],
  [
    'without keys',
    (file) => writeFileSync(file, JSON.stringify({ version: 1, id: 'config-1', fetchedAtMs: 1 })),
  ],
  [
    'without a date',
    (file) => writeFileSync(file, JSON.stringify({ version: 1, id: 'config-1', jwks: COPY.jwks })),
  ],
]

for (const [what, spoil] of SPOILT)
  t.test(`a file ${what} is not read`, async (t) => {
    const { copy, file } = await aCopy(t)
    spoil(file)
    t.equal(await copy.read(), undefined)
  })
