import { readFileSync, writeFileSync } from 'node:fs'
import t from 'tap'
import { ENDPOINTS } from '../../oauth/endpoints.ts'
import { openBrowser } from '../fixtures/open-browser.ts'
import { registerClient } from '../fixtures/register-client.ts'
import {
  makeSecret,
  startRotatingServices,
  startTokenLoad,
  untilLogged,
} from '../fixtures/rotating-services.ts'
import { send } from '../fixtures/send.ts'

// Number of rounds. `npm run soak:rotation` uses more rounds.
const ROUNDS = Number(process.env['ROTATION_ROUNDS'] ?? 1)
const SERVER_SETTING = 'gatewayClient.secretFile'
const GATEWAY_SETTING = 'issuers[0].introspection.clientSecretFile'

t.test('no request fails while the client secret of the gateway is rotated', async (t) => {
  const services = await startRotatingServices(t)
  const { baseUrl, server, gateway, serverSecretFile, gatewaySecretFile } = services
  const client = await registerClient(services)
  const { accessToken } = await client.obtainTokens({
    browser: openBrowser(baseUrl),
    scope: 'openid courses:read',
  })
  const introspect = (secret: string) =>
    send(`${server.url}${ENDPOINTS.introspection}`, {
      form: { token: accessToken, client_id: 'gateway', client_secret: secret },
    })
  const load = startTokenLoad(t, baseUrl, () => accessToken)
  await load.more(50)

  for (let round = 1; round <= ROUNDS; round += 1) {
    const old = readFileSync(gatewaySecretFile, 'utf8')
    const secret = makeSecret()
    writeFileSync(serverSecretFile, `${secret}\n${old}\n`)
    const added = await untilLogged(server, ['"secret_reloaded"', SERVER_SETTING], round * 2 - 1)
    t.equal(added['accepted'], 2)
    await load.more(50)
    writeFileSync(gatewaySecretFile, secret)
    await untilLogged(gateway, ['"secret_reloaded"', GATEWAY_SETTING], round)
    await load.more(50)
    writeFileSync(serverSecretFile, secret)
    const removed = await untilLogged(server, ['"secret_reloaded"', SERVER_SETTING], round * 2)
    t.equal(removed['accepted'], 1)
    await load.more(50)
    const rejected = await introspect(old)
    t.equal(rejected.status, 401)
    t.equal(rejected.json['error'], 'invalid_client')
    t.equal((await introspect(secret)).json['active'], true)
    t.notMatch(server.log() + gateway.log(), secret, 'no log contains the secret')
  }
  await untilLogged(gateway, ['"revocations_connected"'], ROUNDS + 1)

  const secret = readFileSync(serverSecretFile, 'utf8')
  writeFileSync(serverSecretFile, 'too short')
  writeFileSync(gatewaySecretFile, '\n')
  await untilLogged(server, ['"secret_unusable"', 'at least 16 characters long'])
  await untilLogged(gateway, ['"secret_unusable"', 'the file is empty'])
  await load.more(50)
  for (const { managementUrl } of [server, gateway]) {
    const ready = await send(`${managementUrl}/readyz?verbose`)
    t.equal(ready.status, 200)
    t.match(ready.text, /\[!\] secret files: .*: the earlier secret stays/)
  }
  t.equal((await introspect(secret)).json['active'], true, 'the earlier secret stays')

  // The gateway gets a new secret before the server has read the file. After the first use of the new secret, the
  // server reads the file.
  const next = makeSecret()
  writeFileSync(serverSecretFile, next)
  writeFileSync(gatewaySecretFile, next)
  await untilLogged(gateway, ['"secret_reloaded"', GATEWAY_SETTING], ROUNDS + 1)
  await load.more(50)
  await load.stop()
  t.strictSame(Object.keys(load.results), ['200'], JSON.stringify(load.results))
})
