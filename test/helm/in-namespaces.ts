import { spawnSync } from 'node:child_process'
import { chmodSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'

const INSIDE = 'SCOPEGATE_CHECK_NAMESPACE'

/**
 * Runs the tests of a file in separate mount, network and process namespaces. Other programs cannot see the mounts and
 * ports of the tests. The file runs twice. The first run starts the second run in the namespaces. Only the second run
 * calls `check`.
 */
export function inNamespaces(file: string, check: () => void): void {
  if (process.env[INSIDE] === undefined) enter(file)
  else if (bringUpLoopback()) {
    t.jobs = 1
    check()
  }
}

function enter(file: string): void {
  if (process.getuid?.() !== 0) {
    t.fail('containers need root (mounts, user ids): run the checks as root, for example with sudo')
    return
  }
  // PostgreSQL and the services run as other users, which possibly cannot access the folder of the checkout.
  const folder = mkdtempSync(join(tmpdir(), 'scopegate-namespaces-'))
  chmodSync(folder, 0o711)
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  const namespaces = ['--mount', '--net', '--pid', '--fork', '--kill-child', '--mount-proc']
  t.spawn(
    'unshare',
    [...namespaces, process.execPath, ...process.execArgv, file],
    { env: { ...process.env, [INSIDE]: '1', TMPDIR: folder }, timeout: 600_000 },
    'in separate namespaces',
  )
}

function bringUpLoopback(): boolean {
  const { status, error, stderr } = spawnSync('ip', ['link', 'set', 'lo', 'up'], { encoding: 'utf8' })
  if (status !== 0) t.fail(`\`ip\` (iproute2) cannot bring up the loopback interface: ${error ?? stderr}`)
  return status === 0
}
