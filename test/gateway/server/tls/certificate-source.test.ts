import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import {
  type CertificateSource,
  openCertificateSource,
} from '../../../../gateway/server/tls/certificate-source.ts'
import { createLogger } from '../../../../platform/logging/logger.ts'
import { aCertificate } from '../../../fixtures/a-certificate.ts'
import { mountSecret } from '../../../fixtures/mounted-secret.ts'

const HOUR_MS = 3_600_000

function open(t: Test, files: { certFile: string; keyFile: string }, clock = { nowMs: Date.now() }) {
  let text = ''
  const reloads: string[] = []
  const source: CertificateSource = openCertificateSource({
    files,
    nowMs: () => clock.nowMs,
    logger: createLogger({ level: 'info', service: 'test' }, { write: (line) => (text += line) }),
    onReload: (result) => reloads.push(result),
  })
  t.teardown(() => source.close())
  const active: string[] = []
  source.onChange((certificate) => active.push(certificate.names))
  const events = (event: string) =>
    text
      .split('\n')
      .filter((line) => line.includes(`"event":"${event}"`))
      .map((line) => JSON.parse(line))
  return { source, reloads, active, events, log: () => text }
}

t.test('openCertificateSource() rejects unusable files at the start', async (t) => {
  const good = aCertificate()
  const { swap, ...files } = mountSecret(t.testdir({}), { ...good, key: aCertificate().key })
  t.throws(() => open(t, files), {
    code: 'ERR_CONFIG_INVALID',
    message: /C320.*does not match the certificate[\s\S]*tls\.key/,
  })
  t.throws(() => open(t, { ...files, keyFile: join(files.keyFile, '..', 'none') }), {
    message: /C320.*the file does not exist[\s\S]*none/,
  })
})

t.test('a replaced Kubernetes Secret becomes active with its certificate chain', async (t) => {
  const { swap, ...files } = mountSecret(t.testdir({}), aCertificate({ names: ['one.test'] }))
  const { source, reloads, active, events } = open(t, files)
  await source.check()
  t.same(active, [], 'no change, no event')
  swap(aCertificate({ names: ['two.test'] }))
  await source.check()
  t.same(active, ['DNS:two.test'])
  t.equal(source.current.names, 'DNS:two.test')
  t.same(reloads, ['success'])
  t.match(events('tls_certificate'), [
    { names: 'DNS:one.test' },
    { names: 'DNS:two.test', expires_at: /Z$/, fingerprint: /:/ },
  ])
})

t.test(
  'with unusable files, the active certificate stays active, and the log reports the files once',
  async (t) => {
    const { swap, ...files } = mountSecret(t.testdir({}), aCertificate({ names: ['one.test'] }))
    const { source, reloads, active, events, log } = open(t, files)
    const next = aCertificate({ names: ['two.test'] })

    writeFileSync(files.certFile, next.cert)
    await source.check()
    await source.check()
    t.match(events('tls_certificate_unusable'), [
      {
        level: 'error',
        file: files.keyFile,
        reason: /does not match the certificate/,
        remedy: /./,
        in_force: { names: 'DNS:one.test' },
      },
    ])
    writeFileSync(files.keyFile, next.key)
    await source.check()
    t.same(active, ['DNS:two.test'], 'the second of two files arrived')

    swap(aCertificate({ names: ['old.test'], untilMs: Date.now() - HOUR_MS }))
    await source.check()
    t.match(events('tls_certificate_unusable').at(-1), { reason: /expired/ })
    rmSync(files.keyFile)
    await source.check()
    t.match(events('tls_certificate_unusable').at(-1), { file: files.keyFile, reason: /ENOENT/ })
    t.same(active, ['DNS:two.test'])
    t.equal(source.current.names, 'DNS:two.test')
    t.same(reloads, ['failure', 'success', 'failure', 'failure'])
    t.notMatch(log(), next.key.split('\n')[1] ?? 'no key', 'no key is logged')
  },
)

t.test('a certificate that is not yet valid becomes active when it is valid', async (t) => {
  const clock = { nowMs: Date.now() }
  const { swap, ...files } = mountSecret(t.testdir({}), aCertificate())
  const { source, active } = open(t, files, clock)
  swap(aCertificate({ names: ['two.test'], fromMs: clock.nowMs + HOUR_MS }))
  await source.check()
  t.same(active, [])
  clock.nowMs += HOUR_MS
  await source.check()
  t.same(active, ['DNS:two.test'])
})

t.test('a certificate that expires stays active, and the log reports the expiry once', async (t) => {
  const clock = { nowMs: Date.now() }
  const { swap, ...files } = mountSecret(
    t.testdir({}),
    aCertificate({ names: ['one.test'], untilMs: clock.nowMs + HOUR_MS }),
  )
  const { source, reloads, events } = open(t, files, clock)
  clock.nowMs += 2 * HOUR_MS
  await source.check()
  await source.check()
  t.match(events('tls_certificate_expired'), [{ level: 'error', names: 'DNS:one.test' }])
  t.same(reloads, [])
  swap(aCertificate({ names: ['two.test'] }))
  await source.check()
  t.equal(source.current.names, 'DNS:two.test')
})
