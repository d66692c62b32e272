import { spawnSync } from 'node:child_process'
import { lstatSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { findPackageRoot } from '../../platform/process/package-root.ts'

const SCRIPT = join(findPackageRoot(), 'scripts', 'image', 'make-root.js')
const FILES =
  /^(?:usr\/local\/bin\/node|etc\/(?:passwd|group|nsswitch\.conf|ssl\/certs\/ca-certificates\.crt)|lib(?:64)?\/(?:[^/]+-linux-gnu\/)?(?:ld-linux-[^/]+|lib(?:c|m|dl|atomic|pthread|gcc_s|stdc\+\+))\.so\.\d)$/
const MAX_BYTES = 140_000_000

t.test('the system files of the image contain only Node.js, its libraries, CAs and the user', async (t) => {
  const root = join(t.testdir(), 'root')
  const made = spawnSync(process.execPath, [SCRIPT, root], { encoding: 'utf8' })
  t.equal(made.status, 0, made.stderr)
  let bytes = 0
  for (const file of readdirSync(root, { recursive: true, encoding: 'utf8' })) {
    const status = lstatSync(join(root, file))
    t.equal(status.mode & 0o6000, 0, `${file} has no setuid or setgid bit`)
    if (status.isDirectory()) continue
    t.match(file, FILES)
    bytes += status.size
  }
  t.ok(bytes < MAX_BYTES, `${bytes} bytes`)

  const program = `
    console.log(process.version, process.getuid(), Intl.DateTimeFormat('en', { timeZone: 'Asia/Tokyo' }).resolvedOptions().timeZone)`
  const run = spawnSync(
    'unshare',
    [
      ...[`--root=${root}`, '--wd=/', '--setgid=65532', '--setuid=65532'],
      ...['--', '/usr/local/bin/node', '-e', program],
    ],
    { encoding: 'utf8', env: {} },
  )
  t.equal(run.stdout, `${process.version} 65532 Asia/Tokyo\n`, run.stderr)

  const again = spawnSync(process.execPath, [SCRIPT, root], { encoding: 'utf8' })
  t.equal(again.status, 1)
  t.match(again.stderr, 'exists already')
})
