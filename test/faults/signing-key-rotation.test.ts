import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { createLocalJWKSet, decodeProtectedHeader, jwtVerify } from 'jose'
import t from 'tap'
import { makeSigningKeys } from '../../authorization-server/keys/signing-keys.ts'
import { ENDPOINTS } from '../../oauth/endpoints.ts'
import { openBrowser } from '../fixtures/open-browser.ts'
import { registerClient } from '../fixtures/register-client.ts'
import { startRotatingServices, untilLogged } from '../fixtures/rotating-services.ts'
import { send } from '../fixtures/send.ts'
import { startService } from '../fixtures/start-service.ts'

/**
 * A new key in the file signs tokens only after this time. The replicas poll secret files more often, so they publish
 * the key first. Seconds.
 */
const LEAD_SECONDS = 20
/** Pause between two rounds of refreshes. Several rounds fall into each second. */
const THINK_MS = 200

t.test('signing keys: no refresh fails, and both replicas switch at the time in the file', async (t) => {
  const keysFile = join(mkdtempSync(join(tmpdir(), 'scopegate-keys-')), 'signing-keys.json')
  t.teardown(() => rmSync(dirname(keysFile), { recursive: true }))
  const [first, second] = await Promise.all([makeSigningKeys(), makeSigningKeys()])
  const named = first.keys.map((key) => ({ ...key, kid: `first-${key.alg}` }))
  writeFileSync(keysFile, JSON.stringify({ keys: named }))
  const settings = { SCOPEGATE_SIGNING_KEYS_FILE: keysFile }
  const services = await startRotatingServices(t, { server: settings })
  const { baseUrl, folder, server } = services
  const replica = await startService(t, 'authorization-server', {
    ...settings,
    SCOPEGATE_ISSUER: baseUrl,
    SCOPEGATE_DATA_DIR: folder,
    SCOPEGATE_DEVELOPMENT: 'true',
    SCOPEGATE_GATEWAY_CLIENT__SECRET_FILE: services.serverSecretFile,
  })
  const client = await registerClient(services)
  let { refreshToken } = await client.obtainTokens({
    browser: openBrowser(baseUrl),
    scope: 'openid courses:read',
  })
  /** Refreshes at one server. Returns the ID token, the ID of its key, and the times before and after the request. */
  const refresh = async ({ url }: { readonly url: string }) => {
    const before = Math.floor(Date.now() / 1_000)
    const answer = await send(`${url}${ENDPOINTS.token}`, {
      form: { grant_type: 'refresh_token', refresh_token: refreshToken, client_id: client.clientId },
    })
    const after = Math.floor(Date.now() / 1_000)
    t.equal(answer.status, 200, answer.text)
    refreshToken = String(answer.json['refresh_token'])
    const idToken = String(answer.json['id_token'])
    return { idToken, kid: decodeProtectedHeader(idToken).kid, before, after }
  }
  const old = await refresh(server)
  t.equal(old.kid, 'first-ES256')

  const notBefore = Math.floor(Date.now() / 1_000) + LEAD_SECONDS
  const added = second.keys.map((key) => ({ ...key, kid: `second-${key.alg}`, notBefore }))
  writeFileSync(keysFile, JSON.stringify({ keys: [...added, ...named] }))
  for (const one of [server, replica]) await untilLogged(one, ['"secret_reloaded"', '"signingKeysFile"'])
  const switched = new Set<string>()
  while (switched.size < 2) {
    await wait(THINK_MS)
    for (const one of [server, replica]) {
      const { kid, before, after } = await refresh(one)
      if (after < notBefore) t.equal(kid, 'first-ES256', 'the new key is only published')
      if (before >= notBefore) t.equal(kid, 'second-ES256', 'the new key signs')
      if (kid === 'second-ES256') switched.add(one.url)
    }
  }

  for (const { url } of [server, replica]) {
    const { json, text } = await send(`${url}${ENDPOINTS.jwks}`)
    t.notMatch(text, 'notBefore')
    const keys = createLocalJWKSet(json as never)
    const { payload } = await jwtVerify(old.idToken, keys, { issuer: baseUrl })
    t.equal(payload.iss, baseUrl, 'an ID token of the old key stays valid')
  }

  writeFileSync(keysFile, '{"keys":[]}')
  for (const one of [server, replica])
    await untilLogged(one, ['"secret_unusable"', 'the file contains no keys'])
  t.equal((await refresh(server)).kid, 'second-ES256', 'the earlier keys stay')
  writeFileSync(keysFile, JSON.stringify({ keys: added }))
  for (const one of [server, replica]) await untilLogged(one, ['"secret_reloaded"', '"signingKeysFile"'], 2)
  const { text } = await send(`${server.url}${ENDPOINTS.jwks}`)
  t.notMatch(text, 'first-', 'a removed key is not published')
})
