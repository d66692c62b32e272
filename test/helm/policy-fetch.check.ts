import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { createServer as createHttpServer } from 'node:http'
import { createServer as createHttpsServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { aCertificate } from '../fixtures/a-certificate.ts'
import { until } from '../fixtures/until.ts'
import { inNamespaces } from './in-namespaces.ts'
import { startContainer } from './pod.ts'
import { CHART, find, render } from './render-chart.ts'

/** Ends as git-sync ends without its user name or password. With both, publishes its user name and continues to run. */
const GIT_SYNC = `#!/bin/sh
echo started >> /git/starts
test -n "$GITSYNC_USERNAME" && read -r password < /etc/git-secret/password || exit 1
echo "$GITSYNC_USERNAME" > /git/current
exec real-sleep 600
`
/** Waits only for 0.05 s. */
const SLEEP = `#!/bin/sh
echo "sleep $1" >> /git/starts
exec real-sleep 0.05
`
/** Runs the git commands of git-sync version 4 in the same order. Ends after five consecutive failures. */
const GIT_STEPS = `#!/bin/sh
cd /git
fetch() {
  git fsck --no-progress --connectivity-only || { rm -rf .git .worktrees current; git init --quiet -b git-sync; }
  git fetch "$GITSYNC_REPO" main --verbose --no-progress --prune --no-auto-gc --depth 1 || return 1
  hash=$(git rev-parse 'FETCH_HEAD^{}') || return 1
  old=$(readlink current)
  test "$old" != ".worktrees/$hash" || return 0
  git reset --soft "$hash" || return 1
  rm -rf ".worktrees/$hash"
  git worktree prune
  git worktree add --force --detach "/git/.worktrees/$hash" "$hash" --no-checkout || return 1
  (cd ".worktrees/$hash" && git reset --hard "$hash" --) || return 1
  ln -s ".worktrees/$hash" tmp-link
  mv -T tmp-link current
  test -z "$old" || rm -rf "$old"
  git worktree prune
  git reflog expire --expire-unreachable=all --all
  git gc
}
git config --global gc.pruneExpire now
git config --global safe.directory '*'
failures=0
while test $failures -lt 5; do
  if fetch; then failures=0; else failures=$((failures + 1)); fi
  sleep 1
done
exit 1
`
/** The programs of the image of git-sync that the sidecar and {@link GIT_STEPS} use. */
const PROGRAMS = ['cat', 'df', 'git', 'head', 'ln', 'mv', 'readlink', 'timeout', 'touch', 'tr', 'wc']
/** Programs that also print their arguments. `sleep` waits only for 0.05 s. */
const PRINTED_PROGRAMS = {
  rm: 'exec /bin/real-rm "$@"',
  sleep: 'exec /bin/real-sleep 0.05',
}
const PORT = 9_418
/** The name of a commit that a sidecar cannot fetch, the expected message, and a function that returns its tree and its text. */
type UnusableCommit = readonly [
  name: string,
  message: RegExp,
  commit: (git: Git) => readonly [tree: string, text?: string],
]
/** Git fetches this commit. The sidecar then does not write the files. */
const MILLION_FILES: UnusableCommit = [
  'a million empty files',
  /has more than 8192 files and folders/,
  (git) => {
    let entry = `100644 blob ${git(['hash-object', '-w', '--stdin'], '')}`
    for (let level = 0; level < 6; level += 1) {
      const names = Array.from({ length: 10 }, (_, index) => `${entry}\t${index}\n`)
      entry = `040000 tree ${git(['mktree'], names.join(''))}`
    }
    return [entry.slice('040000 tree '.length)]
  },
]
/** The last commit is {@link MILLION_FILES}. */
const UNUSABLE: readonly UnusableCommit[] = [
  [
    'a file that does not fit into the volume',
    /No space left on device[\s\S]*Removing the repository\.\nrm -f \/git\/current\nsleep 5\nrm -rf \/git\/\.git \/git\/\.worktrees\n/,
    (git) => [git(['mktree'], `100644 blob ${addLargeFile(git)}\ta.yaml\n`)],
  ],
  [
    'a commit that does not fit into the memory',
    /Out of memory/,
    (git) => [git(['mktree'], ''), 'text\n'.repeat(20_000_000)],
  ],
  MILLION_FILES,
]
type Git = (args: readonly string[], input?: string) => string
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
    const [git, secret, program, sleep] = ['git', 'secret', 'git-sync', 'sleep'].map((name) =>
      join(folder, name),
    ) as [string, string, string, string]
    mkdirSync(git)
    chmodSync(git, 0o777)
    mkdirSync(secret)
    writeFileSync(program, GIT_SYNC, { mode: 0o755 })
    writeFileSync(sleep, SLEEP, { mode: 0o755 })
    const { child } = startContainer({
      name: 'policies-books',
      image: {
        ...{ entrypoint: ['/git-sync'], env: {}, workdir: '/', user: OWNER },
        copies: [
          ...['/bin/sh', '/bin/cat'].map((path) => ({ from: path, to: path })),
          ...[
            { from: program, to: '/git-sync' },
            { from: sleep, to: '/bin/sleep' },
          ],
          { from: '/bin/sleep', to: '/bin/real-sleep' },
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
    await until('the first start without the Secret', async () => read('starts') !== '')
    writeFileSync(join(secret, 'username'), 'gateway\n')
    writeFileSync(join(secret, 'password'), 'of-the-repository\n')
    await until('the next start uses the Secret', async () => {
      if (child.exitCode !== null) throw new Error('the container ended with git-sync: its pod is not ready')
      return read('current') === 'gateway\n'
    })
    t.match(read('starts'), /^(started\nsleep 5\n)+started\n$/)
    process.kill(first(), 'SIGTERM')
    await until('the container ends with its pod', async () => child.exitCode !== null, 10_000)
    t.equal(child.exitCode, 0)
  })
  t.test('a repository cannot end its sidecar, which then fetches the corrected repository', async (t) => {
    const objects = render('--values', join(CHART, 'ci', 'policy-git-values.yaml'))
    const spec = find(objects, 'Deployment', 'gw-scopegate').spec?.template?.spec
    const [sidecar] = spec?.initContainers ?? []
    const { sizeLimit = '' } = spec?.volumes?.find(({ name }) => name === 'source-0')?.emptyDir ?? {}
    const folder = mkdtempSync(join(tmpdir(), 'policy-limits-'))
    const add = (name: string, text?: string): string => {
      const path = join(folder, name)
      if (text === undefined) mkdirSync(path, { recursive: true })
      else writeFileSync(path, text)
      chmodSync(path, 0o777)
      return path
    }
    const volume = add('source-0')
    run(['mount', '-t', 'tmpfs', '-o', `mode=0777,size=${sizeLimit.replace('Mi', 'm')}`, 'git', volume])
    add('git')
    add('git/git', find(objects, 'ConfigMap', 'gw-scopegate-git').data?.['git'] ?? '')
    for (const path of ['source-0-tmp', 'source-0-secret', 'server']) add(path)
    for (const name of ['username', 'password']) add(`source-0-secret/${name}`, 'any')

    const git: Git = (args, input) => run(['git', '-C', join(folder, 'server'), ...args], input).trim()
    const publish = (tree: string, text = 'policies'): void => {
      const who = ['-c', 'user.name=team', '-c', 'user.email=team@example.org']
      git(['update-ref', 'refs/heads/main', git([...who, 'commit-tree', tree], text)])
    }
    const publishText = (text: string): void =>
      publish(git(['mktree'], `100644 blob ${git(['hash-object', '-w', '--stdin'], text)}\ta.yaml\n`))
    git(['init', '--quiet', '--bare', '-b', 'main'])
    publishText('first')
    const server = spawn('git', [
      ...['daemon', '--export-all', '--listen=127.0.0.1', `--port=${PORT}`, `--base-path=${folder}`],
    ])
    t.teardown(() => server.kill())
    const steps = add('git-sync', GIT_STEPS)
    const printed = Object.entries(PRINTED_PROGRAMS).flatMap(([name, exec]) => [
      { from: add(name, `#!/bin/sh\necho "${name} $*" >&2\n${exec}\n`), to: `/bin/${name}` },
      { from: `/bin/${name}`, to: `/bin/real-${name}` },
    ])
    const { child } = startContainer({
      name: 'policies-limits',
      image: {
        ...{ entrypoint: [], env: { HOME: '/tmp' }, workdir: '/', user: OWNER },
        copies: [
          { from: '/bin/sh', to: '/bin/sh' },
          ...PROGRAMS.map((name) => ({ from: `/usr/bin/${name}`, to: `/usr/bin/${name}` })),
          ...[{ from: steps, to: '/git-sync' }, ...printed],
        ],
      },
      ...{ hosts: [], owner: OWNER, readOnlyRoot: true, isFirstProcess: true },
      env: { GITSYNC_REPO: `git://127.0.0.1:${PORT}/server` },
      command: [...(sidecar?.command ?? []), ...(sidecar?.args ?? [])],
      mounts: (sidecar?.volumeMounts ?? []).map(({ name, mountPath, readOnly = false }) => ({
        ...{ folder: join(folder, name), path: mountPath, readOnly },
      })),
    })
    const first = () => Number(readFileSync(`/proc/${child.pid}/task/${child.pid}/children`, 'utf8'))
    t.teardown(() => child.exitCode ?? process.kill(first(), 'SIGKILL'))
    let output = ''
    for (const stream of [child.stdout, child.stderr])
      stream?.on('data', (chunk: Buffer) => {
        output += chunk.toString()
      })
    const waitFor = async (what: string, isReached: () => boolean): Promise<void> => {
      const ask = async () => {
        if (child.exitCode !== null) throw new Error('the container ended: its pod is not ready')
        return isReached()
      }
      await until(what, ask, 240_000).catch((cause: Error) => {
        throw new Error(`${cause.message}\n${output.slice(-3_000)}`, { cause })
      })
    }
    const published = (): string | undefined => {
      try {
        return readFileSync(join(volume, 'current', 'a.yaml'), 'utf8')
      } catch {
        return undefined
      }
    }
    const lastFetchMs = (): number =>
      statSync(join(volume, '.git', 'last-fetch'), { throwIfNoEntry: false })?.mtimeMs ?? 0
    await waitFor('the first commit', () => published() === 'first')
    const firstFetchMs = lastFetchMs()
    await waitFor('a fetch without a new commit', () => lastFetchMs() > firstFetchMs)
    for (const [name, message, commit] of UNUSABLE) {
      output = ''
      publish(...commit(git))
      await waitFor(`the message for ${name}`, () => message.test(output))
      publishText(name)
      await waitFor(`the commit after ${name}`, () => published() === name)
      t.pass(name)
    }
    publish(...MILLION_FILES[2](git))
    output = ''
    await waitFor('a failed fetch', () => MILLION_FILES[1].test(output))
    const lastSuccessMs = lastFetchMs()
    output = ''
    await waitFor('one more failed fetch', () => MILLION_FILES[1].test(output))
    output = ''
    git(['update-ref', '-d', 'refs/heads/main'])
    // git-sync ends after five failures.
    await waitFor(
      'the next start without the branch',
      () => output.split("couldn't find remote ref").length > 6,
    )
    t.equal(published(), UNUSABLE.at(-1)?.[0], 'the last commit stays after the branch disappeared')
    t.equal(lastFetchMs(), lastSuccessMs, 'failed fetches do not change the time of the last fetch')
  })
  t.test('git in the sidecar ends with its child processes if the server does not respond', async (t) => {
    const { git, env, folder } = sidecarGit(t)
    // The same program with a shorter time.
    writeFileSync(join(folder, 'timeout'), `#!/bin/sh\nshift\nexec /usr/bin/timeout 1 "$@"\n`, {
      mode: 0o755,
    })
    const server = createHttpServer(() => undefined).listen(0, '127.0.0.1')
    t.teardown(() => server.close())
    await once(server, 'listening')
    const { port } = server.address() as AddressInfo
    const child = spawn(git, ['ls-remote', `http://127.0.0.1:${port}/policies`], {
      env: { ...process.env, ...env, GIT_ALLOW_PROTOCOL: 'http', PATH: `${folder}:${process.env['PATH']}` },
      detached: true,
    })
    t.teardown(() => server.closeAllConnections())
    // A child process that runs keeps the output open. git-sync waits for the end of the output.
    const [status] = await once(child, 'close', { signal: AbortSignal.timeout(60_000) })
    t.equal(status, 124)
  })
  t.test('git in the sidecar follows no redirect to an unencrypted connection', async (t) => {
    const { git, env } = sidecarGit(t)
    const requests: (string | undefined)[] = []
    const plain = createHttpServer((request, response) => {
      requests.push(request.url)
      response.end()
    }).listen(0, '127.0.0.1')
    await once(plain, 'listening')
    const secure = createHttpsServer(aCertificate(), ({ url }, response) => {
      response
        .writeHead(302, { location: `http://127.0.0.1:${(plain.address() as AddressInfo).port}${url}` })
        .end()
    }).listen(0, '127.0.0.1')
    await once(secure, 'listening')
    t.teardown(() => [plain.close(), secure.close()])
    const { port } = secure.address() as AddressInfo
    const child = spawn(git, ['ls-remote', `https://127.0.0.1:${port}/policies`], {
      env: { ...process.env, ...env, GIT_SSL_NO_VERIFY: '1' },
    })
    let output = ''
    child.stderr.on('data', (chunk: Buffer) => {
      output += chunk.toString()
    })
    const [status] = await once(child, 'close')
    t.match(output, /Protocol "http" (not supported|disabled)/)
    t.equal(status, 128)
    t.strictSame(requests, [])
  })
  t.test('git in the sidecar is successful if it cannot write the time of the fetch', async (t) => {
    const { git, folder: cwd } = sidecarGit(t)
    const who = ['-c', 'user.name=team', '-c', 'user.email=team@example.org']
    run(['git', 'init', '--quiet', cwd])
    run(['git', '-C', cwd, ...who, 'commit', '--quiet', '--allow-empty', '--message', 'policies'])
    // Outside of the sidecar, the folder /git does not exist.
    const { status, stderr } = spawnSync(git, ['reset', '--hard', 'HEAD'], { cwd, encoding: 'utf8' })
    t.match(stderr, '/git/.git/last-fetch')
    t.equal(status, 0)
  })
  t.test('git in the sidecar has the settings that limit its memory', async (t) => {
    const { git } = sidecarGit(t)
    const settings = ['core.bigFileThreshold', 'core.deltaBaseCacheLimit', 'pack.threads']
    t.strictSame(
      settings.map((name) => run([git, 'config', name]).trim()),
      ['512k', '8m', '1'],
    )
  })
}

/** Returns the program git of the sidecar, its folder, and the variables of the sidecar that git uses. */
function sidecarGit(t: Test): { git: string; folder: string; env: Record<string, string> } {
  const objects = render('--values', join(CHART, 'ci', 'policy-git-values.yaml'))
  const folder = t.testdir({ git: find(objects, 'ConfigMap', 'gw-scopegate-git').data?.['git'] ?? '' })
  const git = join(folder, 'git')
  chmodSync(git, 0o755)
  const [sidecar] = find(objects, 'Deployment', 'gw-scopegate').spec?.template?.spec?.initContainers ?? []
  const variables = sidecar?.env?.filter(({ name }) => name.startsWith('GIT_')) ?? []
  return { git, folder, env: Object.fromEntries(variables.map(({ name, value = '' }) => [name, value])) }
}

/** Adds a file of 160 MiB to the repository. Without compression, the server sends it quickly. */
function addLargeFile(git: Git): string {
  const file = join(mkdtempSync(join(tmpdir(), 'large-')), 'file')
  run(['sh', '-c', `head -c 160M /dev/urandom > ${file}`])
  git(['config', 'core.compression', '0'])
  git(['config', 'core.bigFileThreshold', '1m'])
  return git(['hash-object', '-w', file])
}

function run([command = '', ...args]: readonly string[], input = ''): string {
  const { status, stdout, stderr, error } = spawnSync(command, args, { encoding: 'utf8', input })
  if (status !== 0) throw new Error(`${command} ${args.join(' ')}: ${error?.message ?? stderr}`)
  return stdout
}
