import { execFileSync } from 'node:child_process'
import { mkdirSync, readFileSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Registry } from 'prom-client'
import t, { type Test } from 'tap'
import { openSecretFiles } from '../../../platform/config/secret-files.ts'
import { BootError, ConfigError } from '../../../platform/diagnostics/boot-error.ts'
import { diagnostic, wholeFile } from '../../../platform/diagnostics/diagnostic.ts'

/**
 * Follows one file. `apply` rejects the texts `bad` and `short` with the forms of the services, and the text `C302` with
 * a hint.
 */
function setUp(t: Test, file: string, read?: (file: string) => Promise<string>) {
  const registry = new Registry()
  const logged: object[] = []
  const log = (fields: object, message: string) => void logged.push({ ...fields, message })
  const files = openSecretFiles({
    registry,
    logger: { info: log, error: log } as never,
    ...(read === undefined ? {} : { read }),
  })
  t.teardown(files.close)
  const applied: string[] = []
  let active = 'first'
  const followed = files.follow({
    setting: 'secretFile',
    file,
    apply(text) {
      if (text === 'bad') throw new BootError('ERR_X', `${file}: the file has 11 secrets.`)
      if (text === 'short') throw new BootError('ERR_X', `${file} (secretFile): the secret is too short.`)
      if (text === 'C302')
        throw new ConfigError([
          diagnostic('C302', 'the file is empty', wholeFile(file), { hint: 'write it' }),
        ])
      if (text === active) return undefined
      active = text
      applied.push(text)
      return { accepted: 1 }
    },
  })
  const usable = async () =>
    /scopegate_secret_file_usable\{setting="secretFile"\} (\d)/.exec(await registry.metrics())?.[1]
  return { files, followed, applied, logged, usable }
}

t.test('openSecretFiles() applies a changed file once, with one log line', async (t) => {
  const file = join(t.testdir({ secret: 'first' }), 'secret')
  const { files, followed, applied, logged, usable } = setUp(t, file)
  await files.check()
  t.same(applied, [])
  t.same(logged, [])
  t.same(files.checks(), [])
  writeFileSync(file, 'second')
  await Promise.all([files.check(), followed.check()])
  await files.check()
  t.same(applied, ['second'])
  t.strictSame(logged, [
    {
      event: 'secret_reloaded',
      setting: 'secretFile',
      file,
      accepted: 1,
      message: 'secret reloaded from its file',
    },
  ])
  t.equal(await usable(), '1')
})

t.test(
  'openSecretFiles() applies a file in a mounted volume when the volume replaces its symbolic link',
  async (t) => {
    const folder = t.testdir()
    for (const [version, text] of [
      ['..1', 'first'],
      ['..2', 'second'],
    ] as const) {
      mkdirSync(join(folder, version))
      writeFileSync(join(folder, version, 'secret'), text)
    }
    symlinkSync('..1', join(folder, '..data'))
    symlinkSync(join('..data', 'secret'), join(folder, 'secret'))
    const { files, applied } = setUp(t, join(folder, 'secret'))
    await files.check()
    symlinkSync('..2', join(folder, '..data_tmp'))
    renameSync(join(folder, '..data_tmp'), join(folder, '..data'))
    await files.check()
    t.same(applied, ['second'])
  },
)

t.test('openSecretFiles() keeps the current secret when the file is not UTF-8 text', async (t) => {
  const file = join(t.testdir({ secret: 'first' }), 'secret')
  const { files, applied, logged, usable } = setUp(t, file)
  for (const [content, reason] of [
    [Buffer.from('\ufeffsecond', 'utf16le'), 'the file cannot be read (UTF-16 text, not UTF-8)'],
    [Buffer.from([0x61, 0xff, 0x62]), 'the file cannot be read (not UTF-8 text)'],
  ] as const) {
    writeFileSync(file, content)
    await files.check()
    t.match(logged.at(-1), { event: 'secret_unusable', reason })
    t.equal(await usable(), '0')
  }
  t.same(applied, [])
  writeFileSync(file, '\ufeffsecond')
  await files.check()
  t.same(applied, ['second'], 'without the byte order mark, as at the start')
})

t.test(
  'openSecretFiles() keeps the current secret when the file is not usable, and reports the file once',
  async (t) => {
    const file = join(t.testdir({ secret: 'short' }), 'secret')
    const { files, applied, logged, usable } = setUp(t, file)
    const message = 'the new content of a secret file is not usable: the active secret stays'
    const unusable = { event: 'secret_unusable', setting: 'secretFile', file, message }
    await files.check()
    await files.check()
    t.strictSame(logged, [
      {
        ...unusable,
        reason: 'the secret is too short.',
        remedy: 'correct the file in secretFile, or restore the earlier content',
      },
    ])
    t.equal(await usable(), '0')
    t.same(files.checks(), [
      {
        name: 'secret files',
        ok: true,
        degraded: true,
        detail: `${file}: the secret is too short: the earlier secret stays`,
      },
    ])
    writeFileSync(file, 'bad')
    await files.check()
    t.has(logged.at(-1), { reason: 'the file has 11 secrets.' })
    writeFileSync(file, 'C302')
    await files.check()
    t.match(logged.at(-1), { reason: 'the file is empty', remedy: 'write it' })
    rmSync(file)
    await files.check()
    t.match(logged.at(-1), {
      reason: 'the file cannot be read (ENOENT)',
      remedy: 'write a file that this user may read to the path in secretFile',
    })
    t.same(applied, [])
    writeFileSync(file, 'second')
    await files.check()
    t.same(applied, ['second'])
    t.equal(await usable(), '1')
    t.same(files.checks(), [])
  },
)

t.test('openSecretFiles() rejects a large file and a path that is not a regular file', async (t) => {
  const dir = t.testdir({ large: 'x'.repeat(262_145), largest: 'x'.repeat(262_144), folder: {} })
  execFileSync('mkfifo', [join(dir, 'fifo')])
  for (const [name, reason] of [
    ['fifo', 'not a regular file'],
    ['large', 'larger than 256 KiB'],
    ['folder', 'EISDIR'],
  ] as const) {
    const { files, applied, logged } = setUp(t, join(dir, name))
    await files.check()
    t.match(logged, [{ event: 'secret_unusable', reason: `the file cannot be read (${reason})` }])
    t.same(applied, [])
  }
  const { files, applied } = setUp(t, join(dir, 'largest'))
  await files.check()
  t.equal(applied.length, 1)
})

t.test('openSecretFiles() reads the other files when a file system does not respond', async (t) => {
  const dir = t.testdir({ secret: 'first', hung: 'first' })
  const reads: string[] = []
  let respond = (_: string): void => undefined
  const { files, followed, applied, logged, usable } = setUp(t, join(dir, 'hung'), async (file) => {
    reads.push(file)
    if (file.endsWith('hung')) return new Promise((resolve) => (respond = resolve))
    return readFileSync(file, 'utf8')
  })
  const others: string[] = []
  files.follow({
    setting: 'other',
    file: join(dir, 'secret'),
    apply(text) {
      others.push(text)
      return undefined
    },
  })
  await files.check()
  t.match(logged, [
    { event: 'secret_unusable', reason: 'the file cannot be read (the file system does not respond)' },
  ])
  t.equal(await usable(), '0')
  await files.check()
  t.equal(reads.filter((file) => file.endsWith('hung')).length, 1, 'hung reads do not accumulate')
  t.same(others, ['first', 'first'])
  respond('second')
  await followed.check()
  t.same(applied, ['second'])
  t.equal(await usable(), '1')
})

t.test('openSecretFiles() reports no fault of the file system while the process is busy', async (t) => {
  const file = join(t.testdir({ secret: 'second' }), 'secret')
  const { files, applied, logged } = setUp(t, file)
  const check = files.check()
  // Blocks the event loop for longer than a read may take. The loop then runs the timer before it reads the file.
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 2_100)
  await check
  t.match(logged, [{ event: 'secret_reloaded' }])
  t.same(applied, ['second'])
})

t.test(
  'openSecretFiles() does not report a defect in the code that uses a secret as an error of the file',
  async (t) => {
    const dir = t.testdir({ secret: 'x' })
    const logged: object[] = []
    const log = (fields: object) => void logged.push(fields)
    const files = openSecretFiles({ registry: new Registry(), logger: { info: log, error: log } as never })
    t.teardown(files.close)
    files.follow({
      setting: 'secretFile',
      file: join(dir, 'secret'),
      apply() {
        throw new TypeError('a defect')
      },
    })
    await files.check()
    t.match(logged, [{ event: 'secret_unusable', reason: 'the content is not usable (unknown error)' }])
  },
)
