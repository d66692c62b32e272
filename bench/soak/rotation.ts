// npm run soak:rotation: two authorization servers, a gateway with two workers and TLS, and one Redis. The load uses
// opaque tokens, JWTs, DPoP proofs and browser sessions. Rotates each secret in the documented order. Limit: 0 failed
// requests. SOAK_SECONDS is the time of load after each step. With an argument, runs only the rotations whose names
// contain the argument.
import { writeFileSync } from 'node:fs'
import { setTimeout as wait } from 'node:timers/promises'
import { changeKeyFile } from '../../authorization-server/keys/change-key-file.ts'
import { addKeys, removeKeys } from '../../authorization-server/keys/key-states.ts'
import { keyId, makeSigningKeys, type SigningKeys } from '../../authorization-server/keys/signing-keys.ts'
import { generatePrivateKey } from '../../gateway/upstream-identity/assertion-key.ts'
import { aCertificate } from '../../test/fixtures/a-certificate.ts'
import { makeSecret } from '../../test/fixtures/rotating-services.ts'
import { type Measurement, measuredCount } from './measurement.ts'
import { ACCESS_TOKEN_SECONDS, REDIS_USER, startRotationCluster } from './rotation-cluster.ts'
import { startRotationLoad } from './rotation-load.ts'
import { runSoak } from './run-soak.ts'

const STEP_MS = Number(process.env['SOAK_SECONDS'] ?? 20) * 1_000
const SELECTED = process.argv[2] ?? ''
/**
 * After this time, every process has read a changed file. The time is longer than the interval between two reads.
 * Milliseconds.
 */
const READ_MS = 7_000
/** New signing keys sign tokens only after this time, because both servers must have read the keys. Seconds. */
const LEAD_SECONDS = 12

await runSoak(async (soak) => {
  const cluster = await startRotationCluster(soak)
  const { files, redis } = cluster
  const load = await startRotationLoad(cluster)
  soak.cleanup.add(() => load.stop())
  const rows: Measurement[] = []

  /** Writes a file, and waits until each process has read the file. Then lets the load continue. */
  const write = async (name: keyof typeof files, content: string): Promise<void> => {
    writeFileSync(files[name], content)
    await wait(READ_MS + STEP_MS)
  }
  async function measure(what: string, rotate: () => Promise<void>): Promise<void> {
    if (!what.includes(SELECTED)) return
    load.takeOutcomes()
    await rotate()
    const outcomes = load.takeOutcomes()
    const count = (isFailed: boolean) =>
      [...outcomes].reduce((sum, [name, times]) => sum + (name.startsWith('ok ') === isFailed ? 0 : times), 0)
    const failed = count(true)
    const done = [...outcomes]
      .filter(([name]) => name.startsWith('ok '))
      .map(([name, times]) => `${name.slice(3)} ${times}`)
    console.log(`${what}: ${done.toSorted().join(', ')}`)
    for (const [name, times] of outcomes)
      if (!name.startsWith('ok ')) console.log(`  ${times} times: ${name}`)
    rows.push(measuredCount(`${what}: failed of ${count(false) + failed} requests`, failed, 0))
  }

  await measure('no rotation', () => wait(STEP_MS))
  await measure('assertion key (new key published)', () => write('assertionKey', generatePrivateKey()))
  await measure('client secret of the gateway', async () => {
    const [old, secret] = [load.initial.gatewaySecret, makeSecret()]
    await write('serverSecrets', `${secret}\n${old}\n`)
    await write('gatewaySecret', secret)
    await write('serverSecrets', secret)
  })
  await measure('cookie keys, and nonces of the authorization servers', async () => {
    const [old, key] = [load.initial.cookieKey, makeSecret()]
    await write('cookieKeys', `${old}\n${key}\n`)
    await write('cookieKeys', `${key}\n${old}\n`)
  })
  await measure('nonce secrets of the gateway', async () => {
    const [old, secret] = [load.initial.nonceSecret, makeSecret()]
    await write('nonceSecrets', `${old}\n${secret}\n`)
    await write('nonceSecrets', `${secret}\n${old}\n`)
    await wait(120_000) // the documented time before the removal of the old secret
    await write('nonceSecrets', secret)
  })
  await measure('password of Redis', async () => {
    const password = makeSecret()
    await redis.call('ACL', 'SETUSER', REDIS_USER, `>${password}`)
    await write('redisPassword', password)
    await redis.call('ACL', 'SETUSER', REDIS_USER, `<${load.initial.redisPassword}`)
    await wait(STEP_MS)
  })
  await measure('TLS certificate', async () => {
    const { cert, key } = aCertificate({ by: cluster.authority })
    writeFileSync(files.certificateKey, key)
    await write('certificate', cert)
  })
  await measure('signing keys', async () => {
    const signsFrom = Math.floor(Date.now() / 1_000) + LEAD_SECONDS
    const time = { nowSeconds: signsFrom - LEAD_SECONDS, accessTokenSeconds: ACCESS_TOKEN_SECONDS }
    const { keys } = await makeSigningKeys()
    let old: readonly string[] = []
    const change = (edit: (set: SigningKeys) => SigningKeys) =>
      changeKeyFile(files.signingKeys, (text) => JSON.stringify(edit(JSON.parse(text) as SigningKeys)))
    await change((set) => {
      old = set.keys.map(keyId)
      return addKeys(set, keys, { ...time, signsFrom })
    })
    await wait(LEAD_SECONDS * 1_000 + STEP_MS + ACCESS_TOKEN_SECONDS * 1_000)
    await change((set) =>
      removeKeys(set, new Set(old), { ...time, nowSeconds: signsFrom + ACCESS_TOKEN_SECONDS }),
    )
    await wait(READ_MS + STEP_MS)
  })
  await load.stop()
  return rows
})
