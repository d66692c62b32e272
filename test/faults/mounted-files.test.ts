import { once } from 'node:events'
import {
  chmodSync,
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readlinkSync,
  rmSync,
  symlinkSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { createCleanup } from '../../bench/cleanup.ts'
import { policyMap, sourcePolicy } from '../../bench/soak/start-source-gateways.ts'
import { writeSoakConfig } from '../../bench/soak/write-soak-config.ts'
import { startProcess, whenReady } from '../../bench/start-process.ts'
import { findPackageRoot } from '../../platform/process/package-root.ts'
import { aConfigMap } from '../fixtures/a-config-map.ts'
import { captureLog, recordCredential } from '../fixtures/capture.ts'
import { startRecordingUpstream } from '../fixtures/recording-upstream.ts'
import { send } from '../fixtures/send.ts'
import { spawnPlainly } from '../fixtures/spawn-plainly.ts'
import { until } from '../fixtures/until.ts'

const KEY = 'team.policy.yaml'
const SECRET = 'a-client-secret-of-sufficient-length-0123456789'
/**
 * The command before a service. Root can read every file, so the services run without the capabilities for this. Another
 * user could not read a repository below the home folder of root.
 */
const WITHOUT_ALL_RIGHTS =
  process.getuid?.() === 0 ? ['setpriv', '--bounding-set=-dac_override,-dac_read_search'] : ['env']
const mainOf = (service: string): string => join(findPackageRoot(), service, 'main.ts')

function makeFolder(t: Test): string {
  const folder = mkdtempSync(join(tmpdir(), 'scopegate-mounts-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

function writeGatewayConfig(folder: string): void {
  writeSoakConfig({ folder, upstream: 'http://127.0.0.1:1' })
  writeFileSync(join(folder, 'secret'), SECRET)
}

function writeServerConfig(folder: string): void {
  mkdirSync(join(folder, 'data'))
  copyFileSync(join(findPackageRoot(), 'config', 'scopes.yaml'), join(folder, 'scopes.yaml'))
  writeFileSync(join(folder, 'secret'), SECRET)
  const config = {
    ...{ issuer: 'http://127.0.0.1:8080', name: 'Test', scopes: './scopes.yaml', dataDir: './data' },
    ...{ listen: { host: '127.0.0.1', port: 0 }, management: { host: '127.0.0.1', port: 0 } },
    ...{ store: { type: 'sqlite' }, gatewayClient: { id: 'gateway', secretFile: './secret' } },
  }
  writeFileSync(join(folder, 'authorization-server.yaml'), JSON.stringify(config))
}

const GATEWAY = { service: 'gateway', write: writeGatewayConfig }
const SERVER = { service: 'authorization-server', write: writeServerConfig }
const close = (file: string): void => chmodSync(file, 0)

/** For each fault: its cause and its remedy in the message. The message also contains the path. */
const FAULTS: readonly {
  readonly fault: string
  readonly on: typeof GATEWAY
  readonly path: string
  readonly change: (path: string) => void
  readonly env?: (folder: string) => Readonly<Record<string, string>>
  readonly cause: RegExp
  readonly remedy: RegExp
}[] = [
  {
    ...{ fault: 'no client secret', on: GATEWAY, path: 'secret', change: rmSync },
    ...{ cause: /C302.*does not exist/, remedy: /write the client_secret .*clientSecretFile/ },
  },
  {
    ...{ fault: 'a client secret without permission', on: GATEWAY, path: 'secret', change: close },
    ...{ cause: /C302.*permission denied/, remedy: /grant read permission to the user of this process/ },
  },
  {
    ...{ fault: 'a policy folder without permission', on: GATEWAY, path: 'policies', change: close },
    ...{ cause: /P001.*permission denied/, remedy: /grant read and execute permission to the user/ },
  },
  {
    ...{ fault: 'no password of Redis', on: GATEWAY, path: 'redis-password', change: () => undefined },
    env: (folder) => ({
      REDIS_URL: 'redis://127.0.0.1:1',
      SCOPEGATE_REDIS__PASSWORD_FILE: join(folder, 'redis-password'),
    }),
    ...{ cause: /redis\.passwordFile: .*\(ENOENT\)/, remedy: /write a file that this user may read to/ },
  },
  {
    ...{ fault: 'no secret of the gateway', on: SERVER, path: 'secret', change: rmSync },
    ...{ cause: /gatewayClient\.secretFile\): ENOENT/, remedy: /Check that the file exists/ },
  },
  {
    ...{ fault: 'a secret of the gateway without permission', on: SERVER, path: 'secret', change: close },
    ...{ cause: /gatewayClient\.secretFile\): EACCES/, remedy: /Check that .* this user may read it/ },
  },
  {
    ...{ fault: 'a data folder without permission', on: SERVER, path: 'data', change: close },
    ...{ cause: /EACCES/, remedy: /Check that the file exists and that this user may read it/ },
  },
]

t.test('a missing or unreadable file prevents the start, with its cause, path and remedy', async (t) => {
  recordCredential(SECRET)
  const check = async ({ fault, on, path, change, env, cause, remedy }: (typeof FAULTS)[number]) => {
    const folder = makeFolder(t)
    on.write(folder)
    change(join(folder, path))
    const { code, output } = await run(on.service, { SCOPEGATE_CONFIG_DIR: folder, ...env?.(folder) })
    t.ok(code === 1 || code === 3, `${fault}: exit code ${code}`)
    t.match(output, cause, fault)
    t.match(output, path, fault)
    t.match(output, remedy, fault)
    t.notMatch(output, /\n +at |a-client-secret/, fault)
  }
  await Promise.all(FAULTS.map(check))
})

t.test('a fault of the mount of one policy source has no effect on other sources', async (t) => {
  const cleanup = createCleanup()
  t.teardown(() => cleanup.run())
  const upstream = await startRecordingUpstream()
  cleanup.add(upstream.close)
  const folder = makeFolder(t)
  const names = ['books', 'orders', 'closed']
  const sources = new Map(
    names.map((name) => {
      const source = join(folder, 'sources', name)
      mkdirSync(source, { recursive: true })
      return [name, { folder: source, volume: aConfigMap(source, policyMap(name, 0)) }]
    }),
  )
  writeSoakConfig({
    ...{ folder, upstream: upstream.url },
    settings: {
      policies: undefined,
      policySources: names.map((name) => ({
        ...{ name, folder: `./sources/${name}` },
        permissions: { pathPrefixes: [`/${name}`], upstreams: ['api'], anonymous: true },
      })),
    },
  })
  const [books, closed] = ['books', 'closed'].map((name) => sources.get(name))
  if (books === undefined || closed === undefined) throw new Error('no source')
  chmodSync(closed.folder, 0)

  const gateway = startProcess({
    ...{ name: 'gateway', cores: undefined, cleanup, env: { SCOPEGATE_CONFIG_DIR: folder } },
    command: [...WITHOUT_ALL_RIGHTS, process.execPath, mainOf('gateway')],
  })
  const { url, managementUrl } = await whenReady(gateway)
  const statusOf = async (path: string) => (await send(`${url}${path}`)).status
  const isValid = async (name: string) =>
    (await send(`${managementUrl}/metrics`)).text.includes(
      `scopegate_policy_source_valid{source="${name}"} 1`,
    )
  const faultOf = (name: string) =>
    until(`a fault of ${name}`, async () =>
      (await send(`${managementUrl}/readyz?verbose`)).text
        .split('\n')
        .find((line) => line.startsWith(`[!] policy source ${name}:`)),
    )
  const checkOthers = async (fault: string) => {
    t.equal(await statusOf('/books/v0'), 200, `${fault}: the last valid version stays active`)
    t.equal(await statusOf('/orders/v0'), 200, `${fault}: the other source`)
    t.equal(await isValid('books'), false, fault)
    t.equal(await isValid('orders'), true, fault)
    t.equal((await send(`${managementUrl}/readyz`)).status, 200, fault)
  }

  t.match(await faultOf('closed'), /sources\/closed: error\[P001\]: permission denied/)
  t.equal(await statusOf('/closed/v0'), 503, 'a source that was never readable')
  t.equal(await statusOf('/books/v0'), 200)
  chmodSync(closed.folder, 0o755)
  await until('the permission of the folder', async () => (await statusOf('/closed/v0')) === 200)

  const data = join(books.folder, '..data')
  const version = readlinkSync(data)
  const faults: readonly (readonly [fault: string, code: RegExp, change: () => void, undo: () => void])[] = [
    [
      'a folder without permission',
      /sources\/books: error\[P001\]: permission denied/,
      () => chmodSync(books.folder, 0),
      () => chmodSync(books.folder, 0o755),
    ],
    [
      'a volume without `..data`',
      /sources\/books\/team\.policy\.yaml: error\[P001\]: the file does not exist/,
      () => unlinkSync(data),
      () => symlinkSync(version, data),
    ],
    [
      'two ConfigMaps with the same policy name',
      /sources\/books\/.*: error\[P303\]: .*"team"/,
      () => mountMore(books.folder, { first: 'team' }),
      () => rmSync(join(books.folder, 'first'), { recursive: true }),
    ],
  ]
  for (const [fault, code, change, undo] of faults) {
    change()
    t.match(await faultOf('books'), code, fault)
    await checkOthers(fault)
    undo()
    await until(`the end of ${fault}`, () => isValid('books'))
  }

  mountMore(books.folder, { first: 'one', second: 'two' })
  await until('two ConfigMaps with the same key', async () => (await statusOf('/books/second')) === 200)
  t.equal(await statusOf('/books/first'), 200)
  t.equal(await statusOf('/books/v0'), 200)
})

/** Mounts ConfigMaps with the same key below the folder of a source. `policies` are their policy names by folder. */
function mountMore(folder: string, policies: Readonly<Record<string, string>>): void {
  for (const [name, policy] of Object.entries(policies)) {
    mkdirSync(join(folder, name))
    aConfigMap(join(folder, name), {
      [KEY]: sourcePolicy(`/books/${name}`).replace('"team"', JSON.stringify(policy)),
    })
  }
}

/** Runs a service without the rights of root until it exits. */
async function run(
  service: string,
  env: Readonly<Record<string, string>>,
): Promise<{ readonly code: number | null; readonly output: string }> {
  const [program = '', ...args] = [...WITHOUT_ALL_RIGHTS, process.execPath, mainOf(service)]
  const child = spawnPlainly(program, args, { env })
  const capture = captureLog(service)
  let output = ''
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text: string) => {
      output += text
      capture(text)
    })
  const deadline = setTimeout(() => child.kill('SIGKILL'), 60_000)
  const [code] = await once(child, 'close')
  clearTimeout(deadline)
  return { code, output }
}
