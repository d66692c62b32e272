import { join } from 'node:path'
import { Provider } from 'oidc-provider'
import t, { type Test } from 'tap'
import { acceptNonces } from '../../../authorization-server/engine/proof-nonces.ts'
import { ENDPOINTS } from '../../../oauth/endpoints.ts'
import { aProof, aProofKey } from '../../fixtures/dpop-proof.ts'
import { registerClient } from '../../fixtures/register-client.ts'
import { send } from '../../fixtures/send.ts'
import { startServer } from '../../fixtures/start-authorization-server.ts'

const key = aProofKey()

async function startWithCookieKeys(t: Test, cookieKeysFile: string) {
  const server = await startServer(t, { cookieKeysFile })
  const { clientId } = await registerClient(server)
  const url = server.baseUrl + ENDPOINTS.token
  /** Sends an unknown code with an outdated proof. The server accepts the time of the proof only with a valid nonce. */
  const ask = async (nonce: string | undefined) => {
    const proof = aProof({ key, url, method: 'POST', token: '', claims: { iat: 1, nonce } })
    const form = {
      grant_type: 'authorization_code',
      code: 'unknown',
      code_verifier: 'v'.repeat(43),
      redirect_uri: 'http://127.0.0.1/callback',
      client_id: clientId,
    }
    const { status, json, headers } = await send(url, { form, headers: { dpop: proof } })
    return { status, error: json['error'], nonce: headers.get('dpop-nonce') ?? undefined }
  }
  return { ask }
}

t.test(
  'a server accepts DPoP nonces of each cookie key, so that replicas accept the nonces of other replicas',
  async (t) => {
    const [old, next, other] = ['o'.repeat(32), 'n'.repeat(32), 'x'.repeat(32)] as const
    const folder = t.testdir({
      before: `${old}\n${next}\n`,
      during: `${next}\n${old}\n`,
      after: next,
      foreign: other,
    })
    const start = (name: string) => startWithCookieKeys(t, join(folder, name))
    const [before, during, after, foreign] = await Promise.all([
      start('before'),
      start('during'),
      start('after'),
      start('foreign'),
    ])
    const nonceOf = async ({ ask }: typeof before): Promise<string | undefined> => {
      const { status, error, nonce } = await ask(undefined)
      t.strictSame([status, error], [400, 'use_dpop_nonce'])
      return nonce
    }
    const [nonceOfOld, nonceOfNext] = [await nonceOf(before), await nonceOf(during)]
    for (const [name, { ask }] of Object.entries({ before, during }))
      for (const nonce of [nonceOfOld, nonceOfNext]) {
        const { status, error } = await ask(nonce)
        t.strictSame(
          [status, error],
          [400, 'invalid_grant'],
          `${name}: the nonce is valid, and the code is unknown`,
        )
      }
    t.equal((await during.ask(nonceOfOld)).nonce, nonceOfNext, 'the first key creates nonces')
    t.match(await after.ask(nonceOfNext), { status: 400, error: 'invalid_grant' })
    for (const { ask } of [after, foreign])
      t.match(await ask(nonceOfOld), { status: 400, error: 'use_dpop_nonce' }, 'a removed key')
  },
)

t.test('acceptNonces() rejects an engine without nonces', async (t) => {
  const provider = new Provider('http://as.test', { features: { devInteractions: { enabled: false } } })
  t.throws(() => acceptNonces(provider, [Buffer.alloc(32)]), {
    message: 'the engine has no nonces for DPoP proofs',
  })
})
