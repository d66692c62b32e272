import { cpSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import t, { type Test } from 'tap'
import { findPackageRoot } from '../../../../platform/process/package-root.ts'
import { spawnPlainly } from '../../../fixtures/spawn-plainly.ts'

const ROOT = findPackageRoot()
const COMMAND = join(ROOT, 'bin/scopegate.js')
const SERVICES = ['gateway', 'authorization-server'] as const

type Service = (typeof SERVICES)[number]

/** Runs a service until it ends. Stops a service that listens. */
async function run(
  t: Test,
  service: Service,
  { folder, env = {} }: { readonly folder: string; readonly env?: Readonly<Record<string, string>> },
) {
  const secret = join(folder, 'secret')
  writeFileSync(secret, 'the secret of this test')
  const variable = service === 'gateway' ? 'ISSUERS__0__INTROSPECTION__CLIENT' : 'GATEWAY_CLIENT_'
  const child = spawnPlainly(process.execPath, [COMMAND, service], {
    cwd: folder,
    env: {
      PORT: '0',
      SCOPEGATE_MANAGEMENT__PORT: '0',
      SCOPEGATE_DRAIN__DELAY: '0s',
      [`SCOPEGATE_${variable}_SECRET_FILE`]: secret,
      ...env,
    },
  })
  t.teardown(() => child.kill('SIGKILL'))
  child.stdin.end()
  const closed = new Promise<number | null>((resolve) => child.on('close', resolve))
  let out = ''
  child.stdout.setEncoding('utf8').on('data', (part: string) => {
    out += part
    if (!child.killed && out.includes('"event":"listening"')) child.kill('SIGTERM')
  })
  const err = await text(child.stderr)
  return { code: await closed, err }
}

for (const service of SERVICES) {
  const file = `${service}.yaml`
  const notice = `scopegate: found no ${file} in `

  t.test(`${service} reports that it uses the configuration of the package`, async (t) => {
    const { code, err } = await run(t, service, {
      folder: join(t.testdir({ config: { [file]: 'unknownKey: true\n' }, own: {} }), 'own'),
      env: { SCOPEGATE_LOG__LEVEL: 'loud' },
    })
    t.equal(code, 3)
    t.ok(err.startsWith(notice), err)
    t.notMatch(err, 'unknownKey', 'the configuration in the parent folder can belong to another user')
    const used = service === 'gateway' ? 'the configuration and the policies' : 'the configuration'
    t.match(err, `so the command uses ${used} of the Scopegate package (${join(ROOT, 'config')})`)
  })

  t.test(`${service} uses ./config without a notice`, async (t) => {
    const folder = t.testdir({})
    cpSync(join(ROOT, 'config'), join(folder, 'config'), { recursive: true })
    writeFileSync(join(folder, 'config', file), 'unknownKey: true\n')
    const { code, err } = await run(t, service, { folder })
    t.equal(code, 3)
    t.match(err, 'unknownKey')
    t.notMatch(err, notice)
  })
}
