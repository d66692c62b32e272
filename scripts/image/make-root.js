// Creates the system files of the images: Node.js, its shared libraries, CA certificates and the user. The files come
// from this Debian-like machine. Usage: node scripts/image/make-root.js FOLDER [NODE]. NODE is the Node.js binary of the
// image. Default: the binary that runs this script.
import { spawnSync } from 'node:child_process'
import { chmodSync, copyFileSync, existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { rootCertificates } from 'node:tls'

const [root, node = process.execPath] = process.argv.slice(2)
if (root === undefined) fail('usage: node scripts/image/make-root.js FOLDER [NODE]')
if (existsSync(root)) fail(`${root} exists already. Name a new folder.`)

process.umask(0o022)
copy(node, '/usr/local/bin/node', 0o755)
for (const library of findLibraries(node)) copy(library, library, 0o755)
write(
  '/etc/passwd',
  'root:x:0:0:root:/root:/sbin/nologin\nscopegate:x:65532:65532::/nonexistent:/sbin/nologin\n',
)
write('/etc/group', 'root:x:0:\nscopegate:x:65532:\n')
write('/etc/nsswitch.conf', 'hosts: files dns\n')
write('/etc/ssl/certs/ca-certificates.crt', `${rootCertificates.join('\n')}\n`)
makeFolder('/tmp', 0o1777)

/** Returns the paths of the dynamic loader and of all shared libraries that a binary needs. */
function findLibraries(binary) {
  const { status, stdout, stderr, error } = spawnSync('ldd', [binary], { encoding: 'utf8' })
  if (error !== undefined || status !== 0) fail(`ldd ${binary}: ${error?.message ?? stderr}`)
  if (stdout.includes('not found')) fail(`${binary} needs a library that is not installed:\n${stdout}`)
  return [...stdout.matchAll(/(?:=> |^\s+)(\/\S+) \(/gm)].map(([, path]) => path)
}

function copy(from, to, mode) {
  makeFolder(dirname(to), 0o755)
  copyFileSync(from, join(root, to))
  chmodSync(join(root, to), mode)
}

function write(path, text) {
  makeFolder(dirname(path), 0o755)
  writeFileSync(join(root, path), text)
}

function makeFolder(path, mode) {
  mkdirSync(join(root, path), { recursive: true })
  chmodSync(join(root, path), mode)
}

function fail(text) {
  process.stderr.write(`make-root: ${text}\n`)
  process.exit(1)
}
