import { once } from 'node:events'
import {
  chmodSync,
  existsSync,
  lstatSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { changeKeyFile, findDrafts } from '../../../authorization-server/keys/change-key-file.ts'
import { aCertificate } from '../../fixtures/a-certificate.ts'
import { inUnwritableFolder } from '../../fixtures/in-unwritable-folder.ts'
import { mountSecret } from '../../fixtures/mounted-secret.ts'
import { spawnPlainly } from '../../fixtures/spawn-plainly.ts'

const append = (line: string) => (text: string) => `${text}${line}\n`

t.test('changeKeyFile() replaces the file, follows a symbolic link, and keeps the mode', async (t) => {
  const dir = t.testdir({ real: { keys: 'a\n' } })
  symlinkSync(join('real', 'keys'), join(dir, 'link'))
  chmodSync(join(dir, 'real', 'keys'), 0o640)
  const { ino } = statSync(join(dir, 'real', 'keys'))
  await changeKeyFile(join(dir, 'link'), append('b'))
  t.equal(readFileSync(join(dir, 'real', 'keys'), 'utf8'), 'a\nb\n')
  t.ok(lstatSync(join(dir, 'link')).isSymbolicLink())
  const changed = statSync(join(dir, 'real', 'keys'))
  t.not(changed.ino, ino, 'a reader sees the old or the new content')
  t.equal(changed.mode & 0o777, 0o640)
  t.same(readdirSync(join(dir, 'real')), ['keys'], 'no lock and no draft is left')
})

t.test('changeKeyFile() makes one of several concurrent changes, or each of them', async (t) => {
  const file = join(t.testdir({ keys: '' }), 'keys')
  const results = await Promise.allSettled(
    Array.from({ length: 20 }, (_, index) => changeKeyFile(file, append(`change ${index}`))),
  )
  const lines = readFileSync(file, 'utf8').trim().split('\n')
  t.equal(lines.length, results.filter(({ status }) => status === 'fulfilled').length, 'no change is lost')
  for (const result of results)
    if (result.status === 'rejected')
      t.match(result.reason, {
        code: 'ERR_KEY_FILE',
        exitCode: 1,
        message: /^Another command changes .*keys \(lock .*keys\.lock, /,
      })
  t.same(readdirSync(t.testdirName), ['keys'])
})

t.test(
  'a killed command leaves its lock and an unchanged key file, and the next command names the lock',
  async (t) => {
    const file = join(t.testdir({ keys: 'a\n' }), 'keys')
    const script = fileURLToPath(new URL('../../fixtures/hold-key-file.ts', import.meta.url))
    const child = spawnPlainly(process.execPath, [script, file], {})
    await once(child.stdout, 'data')
    const running = `process ${child.pid} on host ${hostname()} since `
    await t.rejects(changeKeyFile(file, append('b')), {
      code: 'ERR_KEY_FILE',
      message: new RegExp(
        `lock ${file}\\.lock, ${running}[\\dTZ.:-]+\\)\\. If the command has ended, remove the lock\\.$`,
      ),
    })
    child.kill('SIGKILL')
    await once(child, 'close')
    await t.rejects(changeKeyFile(file, append('b')), { message: /, which no longer runs\)/ })
    t.equal(readFileSync(file, 'utf8'), 'a\n')
    rmSync(`${file}.lock`)
    await changeKeyFile(file, append('b'))
    t.equal(readFileSync(file, 'utf8'), 'a\nb\n')
    writeFileSync(`${file}.lock`, '{"pid":1,"host":"\\u001b[31m","startedAt":"')
    await t.rejects(changeKeyFile(file, append('c')), { message: /unknown process/ })
    writeFileSync(`${file}.lock`, '{"pid":1,"host":"\\u001b[31m","startedAt":"now"}')
    await t.rejects(changeKeyFile(file, append('c')), { message: /on host \\u\{1b\}\[31m since now/ })
  },
)

t.test('findDrafts() finds the temporary file of a command that was killed before the rename', async (t) => {
  const dir = t.testdir({
    keys: 'a',
    'keys.12-0123456789ab': 'b',
    'keys.lock': '',
    'keys.bak': '',
    other: '',
  })
  t.same(await findDrafts(join(dir, 'keys')), [join(dir, 'keys.12-0123456789ab')])
})

t.test(
  'changeKeyFile() does not change the file if the new content is invalid or the file has changed',
  async (t) => {
    const file = join(t.testdir({ keys: 'a\n' }), 'keys')
    await t.rejects(
      changeKeyFile(file, () => {
        throw new Error('not valid')
      }),
      { message: 'not valid' },
    )
    await t.rejects(
      changeKeyFile(file, (text) => {
        writeFileSync(file, 'of another process\n')
        return `${text}b\n`
      }),
      {
        code: 'ERR_KEY_FILE',
        message: `${file} changed while the command ran. Nothing was written. Run the command again.`,
      },
    )
    t.equal(readFileSync(file, 'utf8'), 'of another process\n')
    t.same(readdirSync(t.testdirName), ['keys'])
  },
)

t.test('changeKeyFile() rejects a mounted volume, a missing file and a folder', async (t) => {
  const dir = t.testdir({ folder: {}, volume: {} })
  const { keyFile } = mountSecret(join(dir, 'volume'), { ...aCertificate(), key: 'a\n' })
  await t.rejects(changeKeyFile(keyFile, append('b')), {
    code: 'ERR_KEY_FILE',
    message: /volume\/tls\.key is in a mounted volume, which this command cannot change\. Copy the file, /,
  })
  t.equal(readFileSync(keyFile, 'utf8'), 'a\n')
  await t.rejects(changeKeyFile(join(dir, 'missing'), append('b')), {
    code: 'ERR_KEY_FILE',
    message: `${dir}/missing does not exist. Start the authorization server once, or correct signingKeysFile or --file.`,
  })
  await t.rejects(changeKeyFile(join(dir, 'folder'), append('b')), {
    code: 'ERR_SECRET_FILE',
    message: `Cannot read ${dir}/folder (EISDIR).`,
  })
  t.notOk(existsSync(join(dir, 'folder.lock')))
})

t.test('changeKeyFile() names the folder without write permission', (t) =>
  inUnwritableFolder(t, async (folder) => {
    const file = join(folder, 'keys')
    chmodSync(folder, 0o700)
    writeFileSync(file, 'a\n')
    chmodSync(folder, 0o500)
    await t.rejects(changeKeyFile(file, append('b')), {
      code: 'ERR_KEY_FILE',
      message: `Cannot write ${file} (EACCES). Run the command as the owner of the folder ${folder}.`,
    })
    t.equal(readFileSync(file, 'utf8'), 'a\n')
  }),
)
