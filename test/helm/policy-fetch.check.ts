import { chmodSync, mkdirSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { until } from '../fixtures/until.ts'
import { inNamespaces } from './in-namespaces.ts'
import { startContainer } from './pod.ts'
import { CHART, find, render } from './render-chart.ts'

/** Ends as git-sync ends without its user name or password. With both, publishes its user name and continues to run. */
const GIT_SYNC = `#!/bin/sh
echo started >> /git/starts
test -n "$GITSYNC_USERNAME" && read -r password < /etc/git-secret/password || exit 1
echo "$GITSYNC_USERNAME" > /git/current
exec sleep 600
`
/** The user of the containers of the chart. */
const OWNER = { uid: 65_532, gid: 65_532 }

inNamespaces(import.meta.filename, checkInside)

function checkInside(): void {
  t.test('the sidecar of a policy source runs while git-sync ends, and ends with its pod', async (t) => {
    const spec = find(
      render('--values', join(CHART, 'ci', 'policy-git-values.yaml')),
      'Deployment',
      'gw-scopegate',
    ).spec?.template?.spec
    const [sidecar] = spec?.initContainers ?? []
    const folder = mkdtempSync(join(tmpdir(), 'policy-fetch-'))
    const [git, secret, program] = ['git', 'secret', 'git-sync'].map((name) => join(folder, name)) as [
      string,
      string,
      string,
    ]
    mkdirSync(git)
    chmodSync(git, 0o777)
    mkdirSync(secret)
    writeFileSync(program, GIT_SYNC, { mode: 0o755 })
    const { child } = startContainer({
      name: 'policies-books',
      image: {
        ...{ entrypoint: ['/git-sync'], env: {}, workdir: '/', user: OWNER },
        copies: [
          ...['/bin/sh', '/bin/cat', '/bin/sleep'].map((path) => ({ from: path, to: path })),
          { from: program, to: '/git-sync' },
        ],
      },
      ...{ hosts: [], owner: OWNER, env: {}, readOnlyRoot: true, isFirstProcess: true },
      command: [...(sidecar?.command ?? ['/git-sync']), ...(sidecar?.args ?? [])],
      mounts: [
        { folder: git, path: '/git', readOnly: false },
        { folder: secret, path: '/etc/git-secret', readOnly: true },
      ],
    })
    // `child` is the parent of the first process.
    const first = () => Number(readFileSync(`/proc/${child.pid}/task/${child.pid}/children`, 'utf8'))
    t.teardown(() => child.exitCode ?? process.kill(first(), 'SIGKILL'))
    const read = (name: string): string => {
      try {
        return readFileSync(join(git, name), 'utf8')
      } catch {
        return ''
      }
    }
    await until('the first start without the Secret', async () => read('starts') === 'started\n')
    writeFileSync(join(secret, 'username'), 'gateway\n')
    writeFileSync(join(secret, 'password'), 'of-the-repository\n')
    await until('the next start uses the Secret', async () => {
      if (child.exitCode !== null) throw new Error('the container ended with git-sync: its pod is not ready')
      return read('current') === 'gateway\n'
    })
    t.equal(read('starts'), 'started\nstarted\n')
    process.kill(first(), 'SIGTERM')
    await until('the container ends with its pod', async () => child.exitCode !== null, 10_000)
    t.equal(child.exitCode, 0)
  })
}
