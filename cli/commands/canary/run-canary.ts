import { readFile } from 'node:fs/promises'
import { resolve } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { BootError } from '../../../platform/diagnostics/boot-error.ts'
import type { ParsedArguments } from '../../command.ts'
import { usageError } from '../../failures.ts'
import { formatTable } from '../../format-table.ts'
import type { Terminal } from '../../terminal.ts'

const REQUEST_TIMEOUT_MS = 5_000
const POLL_INTERVAL_MS = 50

/** Issues and revokes one token, and prints the seconds until each gateway rejects it. @returns the exit code. */
export async function runCanary(given: ParsedArguments, terminal: Terminal): Promise<number> {
  const issuer = readUrl(given, 'issuer')
  const path = required(given, 'path')
  if (!path.startsWith('/')) throw usageError('canary', '--path must start with /')
  const gateways = given.texts('gateway').map((text) => {
    if (!URL.canParse(text)) throw usageError('canary', '--gateway must be a URL')
    return new URL(text).origin
  })
  if (gateways.length === 0) throw usageError('canary', 'name a gateway: --gateway http://127.0.0.1:8080')
  const validStatus = readNumber(given, 'status', 200)
  const deadlineMs = readNumber(given, 'deadline', 30) * 1000
  const scope = given.text('scope')
  const client = {
    client_id: given.text('client-id') ?? 'canary',
    client_secret: await readSecret(resolve(terminal.folder, required(given, 'secret-file'))),
  }

  const metadataUrl = new URL(issuer)
  metadataUrl.pathname = `/.well-known/oauth-authorization-server${metadataUrl.pathname.replace(/\/$/, '')}`
  const metadata = await readJson('discovery', await send('discovery', metadataUrl.href))
  if (metadata['issuer'] !== issuer)
    throw failed('discovery', `${metadataUrl.href} names another issuer. Set --issuer to its exact value`)
  const tokenUrl = endpoint(metadata, 'token_endpoint')
  const revocationUrl = endpoint(metadata, 'revocation_endpoint')
  for (const gateway of gateways) {
    const status = await statusOf(gateway + path)
    if (status !== 401)
      throw failed(
        'anonymous',
        `${gateway}${path} responds with ${status}, not 401, without a token. Set --path to a protected path`,
      )
  }
  const issued = await readJson(
    'token',
    await postForm('token', tokenUrl, {
      ...client,
      grant_type: 'client_credentials',
      ...(scope === undefined ? {} : { scope }),
    }),
  )
  const token = issued['access_token']
  if (typeof token !== 'string') throw failed('token', `${tokenUrl} returned no access_token`)
  const revoke = () => postForm('revoke', revocationUrl, { ...client, token })
  try {
    for (const gateway of gateways) {
      const status = await statusOf(gateway + path, token)
      if (status !== validStatus)
        throw failed(
          'accept',
          `${gateway}${path} responds with ${status}, not ${validStatus}, to a valid token. Check --path, --scope and --status`,
        )
    }
  } catch (error) {
    // The token must not stay valid after a failed run. The first failure is the useful one.
    await revoke().catch(() => undefined)
    throw error
  }
  const response = await revoke()
  await response.body?.cancel()
  if (response.status !== 200)
    throw failed('revoke', `${revocationUrl} responds with ${response.status}. Check the client credentials`)
  const start = performance.now()
  const results = await Promise.all(
    gateways.map(async (gateway) => ({
      gateway,
      seconds: await pollRejection(gateway + path, token, start, deadlineMs),
    })),
  )
  terminal.out.write(
    formatTable([
      ['GATEWAY', 'SECONDS', 'RESULT'],
      ...results.map(({ gateway, seconds }) =>
        seconds === undefined
          ? [gateway, '-', 'accepts the revoked token']
          : [gateway, seconds.toFixed(3), 'rejects the revoked token'],
      ),
    ]),
  )
  const late = results.filter(({ seconds }) => seconds === undefined).map(({ gateway }) => gateway)
  if (late.length > 0)
    throw failed(
      'reject',
      `no 401 within ${deadlineMs / 1000} s from ${late.join(', ')}. Check the revocation stream of these gateways`,
    )
  return 0
}

/** Returns the seconds until the first 401. Undefined after the deadline. */
async function pollRejection(url: string, token: string, start: number, deadlineMs: number) {
  while (performance.now() - start < deadlineMs) {
    const status = await statusOf(url, token).catch(() => undefined)
    if (status === 401) return (performance.now() - start) / 1000
    await wait(POLL_INTERVAL_MS)
  }
  return undefined
}

async function statusOf(url: string, token?: string): Promise<number> {
  const headers = token === undefined ? {} : { authorization: `Bearer ${token}` }
  const response = await send('gateway', url, { headers })
  await response.body?.cancel()
  return response.status
}

function postForm(stage: string, url: string, fields: Record<string, string>): Promise<Response> {
  return send(stage, url, { method: 'POST', body: new URLSearchParams(fields) })
}

async function send(stage: string, url: string, init: RequestInit = {}): Promise<Response> {
  try {
    return await fetch(url, { ...init, redirect: 'manual', signal: AbortSignal.timeout(REQUEST_TIMEOUT_MS) })
  } catch (error) {
    throw failed(stage, `${url} does not respond. Check the address and the CA (NODE_EXTRA_CA_CERTS)`, error)
  }
}

async function readJson(stage: string, response: Response): Promise<Readonly<Record<string, unknown>>> {
  const body: unknown = await response.json().catch(() => undefined)
  const json = typeof body === 'object' && body !== null ? (body as Record<string, unknown>) : {}
  if (response.ok) return json
  const code = typeof json['error'] === 'string' ? ` (${json['error']})` : ''
  throw failed(
    stage,
    `${response.url} responds with ${response.status}${code}. Check --issuer, the client and its secret`,
  )
}

function endpoint(metadata: Readonly<Record<string, unknown>>, name: string): string {
  const url = metadata[name]
  if (typeof url === 'string' && URL.canParse(url)) return url
  throw failed('discovery', `the metadata of the issuer has no ${name}. Use an issuer that supports it`)
}

async function readSecret(file: string): Promise<string> {
  let secret: string
  try {
    secret = (await readFile(file, 'utf8')).trim()
  } catch (error) {
    throw failed('secret', `${file} cannot be read. Check --secret-file`, error)
  }
  if (secret === '') throw failed('secret', `${file} is empty. Write the client secret to this file`)
  return secret
}

function required(given: ParsedArguments, name: string): string {
  const text = given.text(name)
  if (text === undefined || text === '') throw usageError('canary', `--${name} is required`)
  return text
}

function readUrl(given: ParsedArguments, name: string): string {
  const text = required(given, name)
  if (!URL.canParse(text)) throw usageError('canary', `--${name} must be a URL`)
  return text
}

function readNumber(given: ParsedArguments, name: string, fallback: number): number {
  const text = given.text(name)
  if (text === undefined) return fallback
  if (!/^[1-9]\d{0,3}$/.test(text)) throw usageError('canary', `--${name} must be a number from 1 to 9999`)
  return Number(text)
}

function failed(stage: string, text: string, cause?: unknown): BootError {
  return new BootError('ERR_CANARY', `scopegate canary: stage ${stage}: ${text}.`, { cause })
}
