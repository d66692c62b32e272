import { readFile } from 'node:fs/promises'
import { setTimeout as wait } from 'node:timers/promises'
import { request } from 'undici'
import { type ResolveName, systemAddresses } from '../../../platform/net/resolve-name.ts'
import { CanaryError, type CanaryStage } from './canary-error.ts'
import type { CanarySettings } from './canary-settings.ts'

const REQUEST_TIMEOUT_MS = 5_000
const POLL_INTERVAL_MS = 50

/** The result of one gateway. `seconds` is the time from the revocation to the first 401. */
export type GatewayResult = {
  readonly gateway: string
  readonly seconds: number | undefined
  /** The last status before the deadline. Undefined if the gateway did not respond. */
  readonly status: number | undefined
}

type RequestOptions = { readonly stop?: AbortSignal; readonly timeoutMs?: number }

/**
 * Issues a token, revokes it, and polls each gateway until the gateway rejects the token. After a failure or `stop`,
 * also revokes the token.
 * @throws {CanaryError} if a stage before the polling fails, or if `stop` aborts.
 */
export async function measureRevocation(
  settings: CanarySettings,
  stop: AbortSignal,
  resolve: ResolveName = systemAddresses,
): Promise<readonly GatewayResult[]> {
  const { path, scope, serverName, validStatus, deadlineMs } = settings
  const client = { client_id: settings.clientId, client_secret: await readSecret(settings.secretFile) }
  const { tokenUrl, revocationUrl } = await discover(settings, stop)
  const gateways = await findGateways(settings, resolve)
  for (const gateway of gateways) {
    const status = await statusOf(gateway + path, undefined, { stop, serverName })
    if (status !== 401)
      throw new CanaryError(
        'anonymous',
        `${gateway}${path} responds with ${status}, not 401, without a token. Set --path to a protected path`,
      )
  }
  stop.throwIfAborted()
  // `stop` does not abort this request, because the issuer could issue a token that the canary cannot revoke.
  const issued = await readJson(
    'token',
    await postForm('token', tokenUrl, {
      ...client,
      grant_type: 'client_credentials',
      ...(scope === undefined ? {} : { scope }),
    }),
  )
  const token = issued['access_token']
  if (typeof token !== 'string') throw new CanaryError('token', `${tokenUrl} returned no access_token`)
  try {
    requireLifetime(issued['expires_in'], deadlineMs)
    for (const gateway of gateways) {
      const status = await statusOf(gateway + path, token, { stop, serverName })
      if (status !== validStatus)
        throw new CanaryError(
          'accept',
          `${gateway}${path} responds with ${status}, not ${validStatus}, to a valid token. Check --path, --scope and --status`,
        )
    }
    await revoke(revocationUrl, { ...client, token })
  } catch (error) {
    // The token must not stay valid after a failed run. The first failure is the useful one.
    await revoke(revocationUrl, { ...client, token }).catch(() => undefined)
    throw error
  }
  const start = performance.now()
  const results = await Promise.all(
    gateways.map(async (gateway) => ({
      gateway,
      ...(await pollRejection(gateway + path, token, { start, deadlineMs, stop, serverName })),
    })),
  )
  stop.throwIfAborted()
  return results
}

/** Rejects a token that expires during the run, because a gateway would reject the token without the revocation. */
function requireLifetime(expiresInSeconds: unknown, deadlineMs: number): void {
  if (typeof expiresInSeconds === 'number' && expiresInSeconds * 1000 <= deadlineMs)
    throw new CanaryError(
      'token',
      `the token expires after ${expiresInSeconds} s, before the deadline of ${deadlineMs / 1000} s. Set a shorter --deadline`,
    )
}

/** Returns the failure of the gateways that did not reject the token before the deadline. */
export function findFailure(results: readonly GatewayResult[], deadlineMs: number): CanaryError | undefined {
  const late = results.filter(({ seconds }) => seconds === undefined)
  const accepting = late.filter(({ status }) => status !== undefined)
  const list = (some: readonly GatewayResult[]) => some.map(({ gateway }) => gateway).join(', ')
  if (accepting.length > 0)
    return new CanaryError(
      'reject',
      `no 401 within ${deadlineMs / 1000} s from ${list(accepting)}. Check the revocation stream of these gateways`,
    )
  if (late.length === 0) return undefined
  return new CanaryError(
    'gateway',
    `no response after the revocation from ${list(late)}. Check that these gateways run`,
  )
}

/** Polls until the first 401 or the deadline. The deadline also bounds each request. */
async function pollRejection(
  url: string,
  token: string,
  {
    start,
    deadlineMs,
    stop,
    serverName,
  }: {
    readonly start: number
    readonly deadlineMs: number
    readonly stop: AbortSignal
    readonly serverName: string | undefined
  },
): Promise<Pick<GatewayResult, 'seconds' | 'status'>> {
  let last: number | undefined
  while (!stop.aborted) {
    const remainingMs = deadlineMs - (performance.now() - start)
    if (remainingMs <= 0) break
    const timeoutMs = Math.ceil(Math.min(remainingMs, REQUEST_TIMEOUT_MS))
    try {
      last = await statusOf(url, token, { stop, timeoutMs, serverName })
      if (last === 401) return { seconds: (performance.now() - start) / 1000, status: last }
    } catch (error) {
      // The deadline can end the last request too early for a response. The status before it is then still valid.
      if (!(isTimeout(error) && timeoutMs < REQUEST_TIMEOUT_MS)) last = undefined
    }
    await wait(Math.min(POLL_INTERVAL_MS, remainingMs))
  }
  return { seconds: undefined, status: last }
}

/** Returns the origin of each gateway. Resolves all addresses of the services. */
async function findGateways(
  { gateways, gatewayServices }: CanarySettings,
  resolve: ResolveName,
): Promise<readonly string[]> {
  const resolved = await Promise.all(
    gatewayServices.map(async (service) => {
      const { hostname, origin, port, protocol } = new URL(service)
      const addresses = await resolve(hostname.replace(/^\[|\]$/g, '')).catch((error: unknown) => {
        throw new CanaryError('gateway', `${origin} has no address. Check --gateway-service`, error)
      })
      return addresses.map(({ address, family }) => {
        const host = family === 6 ? `[${address}]` : address
        return `${protocol}//${host}${port === '' ? '' : `:${port}`}`
      })
    }),
  )
  return [...new Set([...gateways, ...resolved.flat()])]
}

async function discover({ issuer, issuerAddress }: CanarySettings, stop: AbortSignal) {
  const { origin, pathname } = new URL(issuer)
  /** Returns the URL at `--issuer-address`, if the URL belongs to the issuer. */
  const reach = (url: URL): string =>
    issuerAddress !== undefined && url.origin === origin
      ? issuerAddress + url.pathname + url.search
      : url.href
  const url = new URL(`/.well-known/oauth-authorization-server${pathname.replace(/\/$/, '')}`, origin)
  const metadata = await readJson('discovery', await send('discovery', reach(url), {}, { stop }))
  if (metadata['issuer'] !== issuer)
    throw new CanaryError(
      'discovery',
      `${url.href} names another issuer. Set --issuer to the exact value of the metadata`,
    )
  return {
    tokenUrl: reach(endpoint(metadata, 'token_endpoint')),
    revocationUrl: reach(endpoint(metadata, 'revocation_endpoint')),
  }
}

async function revoke(url: string, fields: Readonly<Record<string, string>>): Promise<void> {
  const response = await postForm('revoke', url, fields)
  await discardBody(response)
  if (response.status !== 200)
    throw new CanaryError('revoke', `${url} responds with ${response.status}. Check the client credentials`)
}

/** Sends a request to a gateway. A `Host` also sets the name that the certificate must contain. */
async function statusOf(
  url: string,
  token: string | undefined,
  { serverName, ...options }: RequestOptions & { readonly serverName: string | undefined },
): Promise<number> {
  const headers = {
    ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
    ...(serverName === undefined ? {} : { host: serverName }),
  }
  const { statusCode, body } = await withTimeout('gateway', url, options, (signal) =>
    request(url, { headers, signal }),
  )
  // The caller needs only the status. An error of the connection has no effect then.
  void body.dump().catch(() => undefined)
  return statusCode
}

function postForm(
  stage: CanaryStage,
  url: string,
  fields: Readonly<Record<string, string>>,
): Promise<Response> {
  return send(stage, url, { method: 'POST', body: new URLSearchParams(fields) })
}

function send(
  stage: CanaryStage,
  url: string,
  init: RequestInit,
  options: RequestOptions = {},
): Promise<Response> {
  return withTimeout(stage, url, options, (signal) => fetch(url, { ...init, redirect: 'manual', signal }))
}

/** @throws {CanaryError} of `stage` when `run` fails. */
async function withTimeout<T>(
  stage: CanaryStage,
  url: string,
  { stop, timeoutMs = REQUEST_TIMEOUT_MS }: RequestOptions,
  run: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const timeout = AbortSignal.timeout(timeoutMs)
  const signal = stop === undefined ? timeout : AbortSignal.any([timeout, stop])
  try {
    return await run(signal)
  } catch (error) {
    stop?.throwIfAborted()
    throw new CanaryError(
      stage,
      `${url} does not respond. Check the address and the CA (NODE_EXTRA_CA_CERTS)`,
      error,
    )
  }
}

/** Ignores an error of the connection, because the caller needs only the status. */
async function discardBody({ body }: Response): Promise<void> {
  await body?.cancel().catch(() => undefined)
}

function isTimeout(error: unknown): boolean {
  return error instanceof CanaryError && error.cause instanceof Error && error.cause.name === 'TimeoutError'
}

async function readJson(stage: CanaryStage, response: Response): Promise<Readonly<Record<string, unknown>>> {
  const body: unknown = await response.json().catch(() => undefined)
  const json = typeof body === 'object' && body !== null ? (body as Record<string, unknown>) : {}
  if (response.ok) return json
  const code = typeof json['error'] === 'string' ? ` (${json['error']})` : ''
  throw new CanaryError(
    stage,
    `${response.url} responds with ${response.status}${code}. Check --issuer, the client and its secret`,
  )
}

function endpoint(metadata: Readonly<Record<string, unknown>>, name: string): URL {
  const url = metadata[name]
  if (typeof url === 'string' && URL.canParse(url)) return new URL(url)
  throw new CanaryError(
    'discovery',
    `the metadata of the issuer has no ${name}. Use an issuer that supports it`,
  )
}

async function readSecret(file: string): Promise<string> {
  let secret: string
  try {
    secret = (await readFile(file, 'utf8')).trim()
  } catch (error) {
    throw new CanaryError('secret', `${file} cannot be read. Check --secret-file`, error)
  }
  if (secret === '') throw new CanaryError('secret', `${file} is empty. Write the client secret to this file`)
  return secret
}
