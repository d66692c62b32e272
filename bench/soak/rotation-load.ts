import { readFileSync } from 'node:fs'
import { setTimeout as wait } from 'node:timers/promises'
import { createRemoteJWKSet, jwtVerify } from 'jose'
import { Agent, setGlobalDispatcher } from 'undici'
import { ASSERTION_KEYS_PATH } from '../../gateway/discovery/assertion-keys.ts'
import { ENDPOINTS } from '../../oauth/endpoints.ts'
import { aProof, aProofKey } from '../../test/fixtures/dpop-proof.ts'
import { openBrowser } from '../../test/fixtures/open-browser.ts'
import { registerClient } from '../../test/fixtures/register-client.ts'
import { type Answer, send } from '../../test/fixtures/send.ts'
import { ACCESS_TOKEN_SECONDS, type RotationCluster } from './rotation-cluster.ts'

/** Clients that send requests until `stop()`. */
export type RotationLoad = {
  /** The secrets at the start. */
  readonly initial: Readonly<Record<'gatewaySecret' | 'cookieKey' | 'nonceSecret' | 'redisPassword', string>>
  /** Returns the number of occurrences of each outcome since the last call. The name of a success begins with `ok `. */
  takeOutcomes(): ReadonlyMap<string, number>
  stop(): Promise<void>
}

const PAUSE_MS = 20
/** A connection of the load ends after this number of requests, so that the load also opens new TLS connections. */
const REQUESTS_PER_CONNECTION = 20
/** A client refreshes a held token this long before its expiry. Seconds. */
const REFRESH_BEFORE_SECONDS = 5

/** The clients trust the certificate authority of the cluster. */
export async function startRotationLoad(cluster: RotationCluster): Promise<RotationLoad> {
  const { baseUrl, serverUrls, files, authority } = cluster
  setGlobalDispatcher(
    new Agent({ connect: { ca: authority.cert }, maxRequestsPerClient: REQUESTS_PER_CONNECTION }),
  )
  const read = (file: string): string => readFileSync(file, 'utf8').trim()
  const initial = {
    gatewaySecret: read(files.gatewaySecret),
    cookieKey: read(files.cookieKeys),
    nonceSecret: read(files.nonceSecrets),
    redisPassword: read(files.redisPassword),
  }
  const keysOf = (url: string) => createRemoteJWKSet(new URL(url), { cooldownDuration: 0 })
  const assertionKeys = keysOf(baseUrl + ASSERTION_KEYS_PATH)
  const serverKeys = serverUrls.map((url) => keysOf(url + ENDPOINTS.jwks))
  const client = await registerClient({ baseUrl, secret: () => undefined })
  const clientId = client.clientId
  const scope = 'openid courses:read'
  const firstTokens = async (resource?: string) => {
    const overrides = resource === undefined ? {} : { resource }
    return client.obtainTokens({ browser: openBrowser(baseUrl), scope, overrides })
  }
  let outcomes = new Map<string, number>()
  let isStopped = false
  let turn = 0
  const nextServer = (): string => serverUrls[turn++ % serverUrls.length] ?? ''

  async function repeat(name: string, request: () => Promise<void>): Promise<void> {
    while (!isStopped) {
      const outcome = await request().then(
        () => `ok ${name}`,
        (error: unknown) => `${name}: ${error instanceof Error ? error.message : String(error)}`,
      )
      outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1)
      await wait(PAUSE_MS)
    }
  }

  /** Calls the API. Verifies the assertion that the upstream received. */
  async function callApi(path: string, token: string): Promise<void> {
    const answer = expect200(await send(baseUrl + path, { token }))
    await jwtVerify(String(answer.json['assertion']), assertionKeys)
  }
  async function refresh(url: string, refreshToken: string): Promise<Answer> {
    const form = { grant_type: 'refresh_token', refresh_token: refreshToken, client_id: clientId }
    const answer = expect200(await send(url + ENDPOINTS.token, { form }))
    for (const keys of serverKeys) await jwtVerify(String(answer.json['id_token']), keys)
    return answer
  }

  /** Simulates a client that uses each token almost until its expiry, and refreshes through the gateway. */
  async function holdToken(name: string, path: string, resource?: string): Promise<void> {
    let tokens = await firstTokens(resource)
    let refreshAtMs = Date.now() + (ACCESS_TOKEN_SECONDS - REFRESH_BEFORE_SECONDS) * 1_000
    await repeat(name, async () => {
      if (Date.now() > refreshAtMs) {
        tokens = client.readTokens(await refresh(baseUrl, tokens.refreshToken))
        refreshAtMs = Date.now() + (ACCESS_TOKEN_SECONDS - REFRESH_BEFORE_SECONDS) * 1_000
      }
      await callApi(path, tokens.accessToken)
    })
  }
  /**
   * Simulates a client that refreshes at both servers alternately, without the gateway, and uses each new JWT
   * immediately.
   */
  async function useNewJwts(): Promise<void> {
    let tokens = await firstTokens(`${baseUrl}/mcp`)
    await repeat('new JWT', async () => {
      tokens = client.readTokens(await refresh(nextServer(), tokens.refreshToken))
      await callApi('/mcp', tokens.accessToken)
    })
  }
  /**
   * Simulates a client with a DPoP key. Each proof contains the last received nonce. If a response requires a new
   * nonce, the client repeats the request once. RFC 9449 section 8.
   */
  async function useProofs(): Promise<void> {
    const key = aProofKey()
    const nonces: { server?: string; gateway?: string } = {}
    const withProof = async (
      at: 'server' | 'gateway',
      url: string,
      message: { readonly form?: Readonly<Record<string, string>>; readonly token?: string },
    ): Promise<Answer> => {
      const method = message.form === undefined ? 'GET' : 'POST'
      const sendOnce = async (address: string): Promise<Answer> => {
        const { token = '', form } = message
        const htu = at === 'server' ? baseUrl + ENDPOINTS.token : url
        const dpop = aProof({ key, url: htu, method, token, claims: { nonce: nonces[at] } })
        const headers = token === '' ? { dpop } : { dpop, authorization: `DPoP ${token}` }
        const answer = await send(address, { headers, ...(form === undefined ? {} : { form }) })
        nonces[at] = answer.headers.get('dpop-nonce') ?? nonces[at] ?? ''
        return answer
      }
      const answer = await sendOnce(url)
      if (!/use_dpop_nonce/.test(answer.text + answer.headers.get('www-authenticate'))) return answer
      return sendOnce(at === 'server' ? nextServer() + ENDPOINTS.token : url)
    }
    const grant = await client.obtainCode({ browser: openBrowser(baseUrl), scope })
    let form: Readonly<Record<string, string>> = {
      grant_type: 'authorization_code',
      code: grant.code,
      redirect_uri: client.redirectUri,
      code_verifier: grant.verifier,
      client_id: clientId,
    }
    await repeat('DPoP', async () => {
      const tokens = expect200(await withProof('server', nextServer() + ENDPOINTS.token, { form }))
      const refreshToken = String(tokens.json['refresh_token'])
      form = { grant_type: 'refresh_token', refresh_token: refreshToken, client_id: clientId }
      const token = String(tokens.json['access_token'])
      expect200(await withProof('gateway', `${baseUrl}/api/courses`, { token }))
    })
  }
  /**
   * Simulates a person whose browser session must not end. After the first sign-in, the person enters a wrong password,
   * so a second sign-in would fail.
   */
  async function useSession(): Promise<void> {
    const browser = openBrowser(baseUrl)
    await client.obtainTokens({ browser, scope })
    await repeat('session', async () => {
      await client.obtainTokens({ browser, scope, person: { password: 'wrong' } })
    })
  }

  const clients = [
    holdToken('opaque token', '/api/courses'),
    holdToken('held JWT', '/mcp', `${baseUrl}/mcp`),
    useNewJwts(),
    useProofs(),
    useSession(),
  ]
  const ended = Promise.all(clients)
  while (outcomes.size < clients.length) await Promise.race([wait(PAUSE_MS), ended])
  return {
    initial,
    takeOutcomes() {
      const taken = outcomes
      outcomes = new Map()
      return taken
    },
    async stop() {
      isStopped = true
      await ended
    },
  }
}

function expect200(answer: Answer): Answer {
  if (answer.status !== 200)
    throw new Error(`${answer.status} ${answer.text} ${answer.headers.get('www-authenticate') ?? ''}`)
  return answer
}
