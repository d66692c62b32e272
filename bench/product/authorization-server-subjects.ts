import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { ENDPOINTS } from '../../oauth/endpoints.ts'
import { openBrowser } from '../../test/fixtures/open-browser.ts'
import { type Grant, registerClient } from '../../test/fixtures/register-client.ts'
import { send } from '../../test/fixtures/send.ts'
import type { Exchange } from '../load/exchange-load.ts'
import { CONNECTIONS } from '../load/load.ts'
import type { Subject } from '../subject.ts'
import type { BenchAuthorizationServer } from './start-authorization-servers.ts'

/** The measured operations, in the order of the table. */
export const OPERATIONS = [
  'authorization',
  'code exchange',
  'refresh',
  'introspection',
  'registration',
] as const

export type Operation = (typeof OPERATIONS)[number]

/** One subject for each operation of an authorization server. */
export type AuthorizationServerSubjects = {
  readonly name: string
  readonly subjects: Readonly<Record<Operation, Subject>>
  /** For the URL of each subject, the function that performs one operation. */
  readonly exchanges: ReadonlyMap<string, Exchange>
  /** Number of HTTP requests from the authorization request to the code. */
  readonly requestsPerAuthorization: number
}

const PATHS: Readonly<Record<Operation, string>> = {
  authorization: ENDPOINTS.authorization,
  'code exchange': ENDPOINTS.token,
  refresh: ENDPOINTS.token,
  introspection: ENDPOINTS.introspection,
  registration: ENDPOINTS.registration,
}

/** Number of prepared codes for each second of a round. The round ends when the load has used all codes. */
const CODES_PER_SECOND = 200

/** With `prompt=consent`, the server shows the consent page even if it remembers an earlier consent. */
const ASKING = { scope: 'openid courses:read', overrides: { prompt: 'consent' } }

/**
 * Registers a client. For each connection of the load, signs in a person in a separate browser, so that each connection
 * has its own session and its own grant.
 */
export async function authorizationServerSubjects(
  server: BenchAuthorizationServer,
): Promise<AuthorizationServerSubjects> {
  const { baseUrl, gatewaySecret } = server
  const client = await registerClient({ baseUrl, secret: () => undefined })
  const browsers = Array.from({ length: CONNECTIONS }, () => openBrowser(baseUrl))
  const accessTokens: string[] = []
  const refreshTokens: string[] = []
  for (const browser of browsers) {
    const tokens = await client.obtainTokens({ browser, ...ASKING })
    accessTokens.push(tokens.accessToken)
    refreshTokens.push(tokens.refreshToken)
  }
  const authorize = (connection: number): Promise<Grant> =>
    client.obtainCode({ browser: browsers[connection] as (typeof browsers)[number], ...ASKING })

  const codes: Grant[] = []
  const prepareCodes = async (seconds: number): Promise<void> => {
    codes.length = 0 // the codes of an earlier round can have expired
    const count = Math.ceil(seconds * CODES_PER_SECOND)
    await Promise.all(
      browsers.map(async (_, connection) => {
        while (codes.length < count) codes.push(await authorize(connection))
      }),
    )
  }

  const operations: Readonly<Record<Operation, Exchange>> = {
    authorization: async (connection) => {
      await authorize(connection)
      return 'right'
    },
    'code exchange': async () => {
      const grant = codes.shift()
      if (grant === undefined) return 'finished'
      const { status, json } = await client.exchange(grant)
      if (status !== 200) return 'wrongStatus'
      return [json['access_token'], json['refresh_token'], json['id_token']].every(isText)
        ? 'right'
        : 'wrongBody'
    },
    refresh: async (connection) => {
      const used = String(refreshTokens[connection])
      const response = await client.refresh(used)
      if (response.status !== 200) return 'wrongStatus'
      const { refreshToken } = client.readTokens(response)
      if (refreshToken === used) return 'wrongBody'
      refreshTokens[connection] = refreshToken
      return 'right'
    },
    introspection: async (connection) => {
      const form = { token: accessTokens[connection], client_id: 'gateway', client_secret: gatewaySecret }
      const { status, json } = await send(`${baseUrl}${ENDPOINTS.introspection}`, { form })
      return status !== 200 ? 'wrongStatus' : json['active'] === true ? 'right' : 'wrongBody'
    },
    registration: async () => {
      await registerClient({ baseUrl, secret: () => undefined })
      return 'right'
    },
  }
  const subjectOf = (operation: Operation): Subject => ({
    name: `${operation}, ${server.name}`,
    process: server.process,
    core: server.core,
    // Two operations have the same URL. The load finds the operation by the fragment, because no request contains the
    // fragment.
    target: { url: `${baseUrl}${PATHS[operation]}#${operation}`, headers: {}, expectedBody: '' },
    ...(operation === 'code exchange' ? { prepare: prepareCodes } : {}),
  })
  const subjects = Object.fromEntries(
    OPERATIONS.map((operation) => [operation, subjectOf(operation)]),
  ) as Record<Operation, Subject>
  return {
    name: server.name,
    subjects,
    exchanges: new Map(
      OPERATIONS.map((operation) => [subjects[operation].target.url, operations[operation]]),
    ),
    requestsPerAuthorization: await countRequests(baseUrl, () => authorize(0)),
  }
}

/** Counts the HTTP requests of this process to an origin during `run`. */
async function countRequests(origin: string, run: () => Promise<unknown>): Promise<number> {
  let count = 0
  const observe = (message: unknown): void => {
    if ((message as { readonly request: { readonly origin: unknown } }).request.origin === origin) count += 1
  }
  subscribe('undici:request:create', observe)
  await run()
  unsubscribe('undici:request:create', observe)
  return count
}

function isText(value: unknown): boolean {
  return typeof value === 'string' && value !== ''
}
