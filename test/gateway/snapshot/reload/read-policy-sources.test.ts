import { execFileSync } from 'node:child_process'
import { chmodSync, mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { listFolder, readPolicySources } from '../../../../gateway/snapshot/reload/read-policy-sources.ts'
import { displayPath } from '../../../../platform/diagnostics/display-path.ts'
import { findPolicyFiles } from '../../../../policy-engine/load/find-policy-files.ts'
import {
  findPolicyFolders,
  type PolicyFolder,
  policyEntries,
  readFolder,
} from '../../../../policy-engine/load/policy-sources.ts'
import { aConfigMap } from '../../../fixtures/a-config-map.ts'
import { inUnwritableFolder } from '../../../fixtures/in-unwritable-folder.ts'

const read = (policiesDir: string, scopesFile?: string) =>
  readPolicySources({ policiesDir, scopesFile, presetsFile: scopesFile })

t.test('an unreadable file is reported and does not block the read', async (t) => {
  const dir = t.testdir({ 'good.policy.yaml': 'a: 1\n', 'wide.policy.yaml': Buffer.from([0xff, 0xfe, 0x41]) })
  mkdirSync(join(dir, 'folder.policy.yaml'))
  symlinkSync('loop.policy.yaml', join(dir, 'loop.policy.yaml'))
  symlinkSync('nowhere', join(dir, 'gone.policy.yaml'))
  execFileSync('mkfifo', [join(dir, 'pipe.policy.yaml')])
  writeFileSync(join(dir, 'large.policy.yaml'), ' '.repeat(262_145))
  const { files } = await read(dir)
  t.same(Object.fromEntries(files.map(({ name, source }) => [name.split('.')[0], source])), {
    folder: { fault: 'folder' },
    gone: { fault: 'unreadable', code: 'ENOENT' },
    good: { text: 'a: 1\n' },
    large: { fault: 'too_large', bytes: 262_145, limit: 262_144 },
    loop: { fault: 'unreadable', code: 'ELOOP' },
    pipe: { fault: 'irregular' },
    wide: { fault: 'utf16' },
  })
  t.same((await read(join(dir, 'nowhere'))).folder, { code: 'ENOENT' })
  t.same((await read(join(dir, 'good.policy.yaml'))).folder, { code: 'ENOTDIR' })
})

t.test('an unreadable folder is reported', (t) =>
  inUnwritableFolder(t, async (folder) => {
    const dir = join(folder, 'policies')
    chmodSync(folder, 0o100)
    t.same((await read(folder)).folder, { code: 'EACCES' })
    t.same((await read(dir)).folder, { code: 'ENOENT' })
  }),
)

t.test('the hash covers exactly the names, contents and scopes that affect decisions', async (t) => {
  const dir = t.testdir({ 'a.policy.yaml': 'a: 1\n', 'scopes.yaml': 'scopes: []\n' })
  const scopes = join(dir, 'scopes.yaml')
  const { hash } = await read(dir, scopes)
  t.match(hash, /^[0-9a-f]{64}$/)
  writeFileSync(join(dir, 'a.policy.yaml'), 'a: 1\n') // changes only the modification time
  writeFileSync(join(dir, 'a_test.yaml'), 'tests: []\n')
  writeFileSync(join(dir, 'README.md'), '# a\n')
  const again = await read(dir, scopes)
  t.equal(again.hash, hash)
  t.notMatch(again.folder, { names: ['a_test.yaml'] }, 'tests do not affect decisions')
  writeFileSync(scopes, 'scopes: [ ]\n')
  const other = await read(dir, scopes)
  t.not(other.hash, hash)
  writeFileSync(join(dir, 'a.policy.yaml'), 'a: 2\n')
  const third = await read(dir, scopes)
  t.not(third.hash, other.hash)
})

t.test(
  'a read returns one version of a ConfigMap, also when the version changes during the read',
  async (t) => {
    const dir = t.testdir()
    const version = (number: number) =>
      Object.fromEntries(
        Array.from({ length: 8 }, (_, file) => [`${file}-${number % 2}.policy.yaml`, `version: ${number}\n`]),
      )
    const volume = aConfigMap(dir, version(0))
    writeFileSync(join(dir, 'beside.policy.yaml'), 'version: none\n')
    let number = 0
    let mixed = 0
    let torn = 0
    for (let round = 0; round < 100; round++) {
      const reading = read(dir)
      volume.swap(version(++number))
      await new Promise(setImmediate)
      volume.swap(version(++number))
      const { files } = await reading
      const texts = new Set(files.map(({ source }) => ('text' in source ? source.text : 'unread')))
      if (texts.has('unread') || files.length !== 9) torn += 1
      if (texts.size !== 2) mixed += 1
    }
    t.equal(torn, 0, 'missing files that existed')
    t.equal(mixed, 0, 'files of two versions together')
  },
)

t.test('a read returns one version of the ConfigMap in each nested folder', async (t) => {
  const dir = t.testdir({
    one: {},
    two: {},
    plain: { deeper: { 'a.policy.yaml': 'deeper\n' } },
    '.hidden': {},
  })
  const version = (number: number) => ({
    'a.policy.yaml': `version: ${number}\n`,
    'b.policy.yaml': `version: ${number}\n`,
  })
  const volumes = ['one', 'two'].map((name) => aConfigMap(join(dir, name), version(0)))
  writeFileSync(join(dir, '.hidden', 'a.policy.yaml'), 'hidden\n')
  writeFileSync(join(dir, 'plain', 'a.policy.yaml'), 'version: none\n')
  symlinkSync('.', join(dir, 'plain', 'loop'))
  symlinkSync('nowhere', join(dir, 'gone'))
  symlinkSync('plain/a.policy.yaml', join(dir, 'file'))
  const policies = ['one/a', 'one/b', 'plain/a', 'two/a', 'two/b'].map((name) => `${name}.policy.yaml`)
  const { folder } = await read(dir)
  t.same(folder, {
    names: [...policies, 'file', 'gone', 'one', 'plain', 'plain/deeper', 'plain/loop', 'two'].toSorted(),
  })
  t.same(readFolder(dir), folder, 'the synchronous reader agrees')
  t.same(
    await findPolicyFolders(dir),
    ['', 'one', 'plain', 'two'].map((name) => join(dir, name)),
  )
  const mixed: string[] = []
  for (let number = 1; number <= 100; number++) {
    const reading = read(dir)
    volumes[number % 2]?.swap(version(number))
    const { files } = await reading
    const texts = files.map(({ source }) => ('text' in source ? source.text : 'unread'))
    if (files.map(({ name }) => name).join() !== policies.join()) mixed.push(JSON.stringify(files))
    if (texts[0] !== texts[1] || texts[3] !== texts[4] || texts.includes('unread')) mixed.push(texts.join())
  }
  t.same(mixed, [], 'each read shows one version of each ConfigMap')
})

t.test('an unreadable nested folder is an error, because its policies would disappear', (t) =>
  inUnwritableFolder(t, async (folder) => {
    chmodSync(folder, 0o700)
    mkdirSync(join(folder, 'team'))
    writeFileSync(join(folder, 'team', 'a.policy.yaml'), 'a: 1\n')
    chmodSync(join(folder, 'team'), 0)
    const { folder: found, hash } = await read(folder)
    t.same(found, { code: 'EACCES', folder: 'team' })
    t.same(readFolder(folder), { code: 'EACCES', folder: 'team' })
    t.match(findPolicyFiles(folder, found, { isSource: false }).diagnostics, [
      { code: 'P001', location: { file: join(folder, 'team') } },
    ])
    chmodSync(join(folder, 'team'), 0o700)
    t.not((await read(folder)).hash, hash)
  }),
)

const readSource = async (folder: string, root?: string) => {
  const { sources } = await readPolicySources({
    policiesDir: '',
    policySources: [{ name: 'team', folder, root }],
    scopesFile: undefined,
    presetsFile: undefined,
  })
  return sources?.[0]?.current ?? t.fail('no source')
}

t.test('a symbolic link of a policy source must not have a target outside its folder', async (t) => {
  const dir = t.testdir({
    secret: 'the secret',
    other: { 'own.policy.yaml': 'a: 1\n' },
    team: { 'own.policy.yaml': 'a: 1\n', nested: { 'b.policy.yaml': 'b: 1\n' } },
  })
  const team = join(dir, 'team')
  symlinkSync('own.policy.yaml', join(team, 'inside.policy.yaml'))
  symlinkSync('../secret', join(team, 'outside.policy.yaml'))
  symlinkSync('/proc/self/environ', join(team, 'nested', 'environment.policy.yaml'))
  const found = await readSource(team)
  t.same(Object.fromEntries((found as PolicyFolder).files.map(({ name, source }) => [name, source])), {
    'inside.policy.yaml': { text: 'a: 1\n' },
    'nested/b.policy.yaml': { text: 'b: 1\n' },
    'nested/environment.policy.yaml': { fault: 'outside' },
    'outside.policy.yaml': { fault: 'outside' },
    'own.policy.yaml': { text: 'a: 1\n' },
  })
  symlinkSync('../other', join(team, 'others'))
  const { folder } = (await readSource(team)) as PolicyFolder
  t.same(folder, { code: 'LINK_OUTSIDE', folder: 'others' })
  t.match(findPolicyFiles(team, folder, { isSource: true }).diagnostics, [
    {
      code: 'P001',
      message: /leads outside of the folder/,
      location: { file: displayPath(join(team, 'others')) },
    },
  ])
})

t.test(
  'a policy source can contain a Kubernetes volume, and its folder can be a symbolic link',
  async (t) => {
    const root = t.testdir({})
    const dir = join(root, 'team')
    mkdirSync(dir)
    aConfigMap(dir, { 'a.policy.yaml': 'a: 1\n' })
    symlinkSync('team', join(root, 'current'))
    for (const folder of [dir, join(root, 'current')])
      t.same(((await readSource(folder)) as PolicyFolder).files, [
        { name: 'a.policy.yaml', source: { text: 'a: 1\n' } },
      ])
  },
)

t.test('the folder of a policy source with a root must not lead outside of the root', async (t) => {
  const dir = t.testdir({
    other: { 'secret.policy.yaml': 'the secret' },
    team: { '.worktrees': { abc: { deploy: { 'own.policy.yaml': 'a: 1\n' } } } },
  })
  const team = join(dir, 'team')
  const checkout = join(team, '.worktrees', 'abc')
  symlinkSync('.worktrees/abc', join(team, 'current'))
  symlinkSync('deploy', join(checkout, 'inside'))
  // The path in the repository, or a part of this path, is a link that the team has committed.
  symlinkSync('../../../other', join(checkout, 'outside'))
  symlinkSync('../../..', join(checkout, 'above'))
  for (const path of ['deploy', 'inside'])
    t.same(
      ((await readSource(join(team, 'current', path), team)) as PolicyFolder).files,
      [{ name: 'own.policy.yaml', source: { text: 'a: 1\n' } }],
      path,
    )
  for (const path of ['outside', 'above/other'])
    t.same(
      await readSource(join(team, 'current', path), team),
      { folder: { code: 'LINK_OUTSIDE' }, files: [] },
      path,
    )
  symlinkSync('team', join(dir, 'mount'))
  t.same(
    ((await readSource(join(dir, 'mount', 'current', 'deploy'), join(dir, 'mount'))) as PolicyFolder).files
      .length,
    1,
    'the root can be a symbolic link',
  )
  t.same(
    ((await readSource(join(dir, 'mount', 'gone'), join(dir, 'mount'))) as PolicyFolder).folder,
    { code: 'ENOENT' },
    'a missing folder is reported as missing',
  )
})

t.test('all folders of a policy source share its limits', async (t) => {
  const text = ' '.repeat(262_144)
  const half = Object.fromEntries(Array.from({ length: 9 }, (_, index) => [`${index}.policy.yaml`, text]))
  const dir = t.testdir({ a: half, b: { ...half } })
  // The read stops at the folder `b`. Otherwise, the link `z` would cause another error.
  symlinkSync('/', join(dir, 'z'))
  t.same(((await readSource(dir)) as PolicyFolder).folder, { code: 'TOO_MUCH_TEXT', folder: 'b' })
})

t.test('the entries of a large folder arrive in small parts, so that other work can run', async (t) => {
  const names = Array.from({ length: 2_000 }, (_, index) => `${index}.policy.yaml`)
  const dir = t.testdir(Object.fromEntries(names.map((name) => [name, ''])))
  let ofThisTurn = 0
  let most = 0
  const nextTurn = (): void => {
    ofThisTurn = 0
    turn = setImmediate(nextTurn)
  }
  let turn = setImmediate(nextTurn)
  t.teardown(() => clearImmediate(turn))
  const found: string[] = []
  for await (const { name } of policyEntries(dir)) {
    found.push(name)
    most = Math.max(most, ++ofThisTurn)
  }
  t.same(found.toSorted(), names.toSorted())
  t.ok(most <= 100, `${most} entries in one turn of the event loop`)
})

t.test('the gateway stops to list a folder above the limit of files', async (t) => {
  const folders = Array.from({ length: 50 }, (_, index) => `folder-${index}`)
  const dir = t.testdir({
    large: Object.fromEntries(folders.map((name) => [name, {}])),
    ignored: Object.fromEntries(folders.map((name) => [`${name}_test.yaml`, ''])),
    volume: { own: '', linked: '' },
  })
  const sizeOf = async (name: string, limit: number, pinned?: string) => {
    const listing = await listFolder(join(dir, name), pinned, limit)
    return typeof listing === 'string' ? listing : listing.paths.size
  }
  t.equal(await sizeOf('large', 50), 50)
  t.equal(await sizeOf('large', 49), 50)
  t.equal(await sizeOf('large', 10), 11)
  t.equal(await sizeOf('ignored', 10), 0)
  t.equal((await findPolicyFolders(join(dir, 'large'), { files: 10, folders: 100 })).length, 11)
  t.equal((await findPolicyFolders(join(dir, 'large'), { files: 100, folders: 20 })).length, 21)

  aConfigMap(join(dir, 'volume'), { 'a.policy.yaml': '', 'b.policy.yaml': '' })
  const pinned = join(dir, 'volume', '..data')
  t.equal(await sizeOf('volume', 10, pinned), 4)
  t.equal(await sizeOf('volume', 2, pinned), 3)
  t.equal(await sizeOf('volume', 0, pinned), 1)
  rmSync(join(dir, 'volume', 'a.policy.yaml'))
  writeFileSync(join(dir, 'volume', 'a.policy.yaml'), '')
  const { paths } = (await listFolder(join(dir, 'volume'), pinned)) as { paths: ReadonlyMap<string, string> }
  t.equal(paths.get('a.policy.yaml'), join(pinned, 'a.policy.yaml'), 'the volume has precedence')
})

t.test('a policy source with more files than its limit is not read', async (t) => {
  const names = Array.from({ length: 1_001 }, (_, index) => `${index}.policy.yaml`)
  const dir = t.testdir({ nested: Object.fromEntries(names.map((name) => [name, ''])) })
  t.same(await readSource(join(dir, 'nested')), { folder: { code: 'TOO_MANY_FILES' }, files: [] })
  t.same(await readSource(dir), { folder: { code: 'TOO_MANY_FILES', folder: 'nested' }, files: [] })
})
