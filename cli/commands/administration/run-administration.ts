import { request } from 'node:http'
import { text } from 'node:stream/consumers'
import { BootError } from '../../../platform/diagnostics/boot-error.ts'
import { isRecord } from '../../../platform/diagnostics/record.ts'
import { parseDurationMs } from '../../../platform/diagnostics/schema/value-formats.ts'
import { visibleText } from '../../../platform/diagnostics/visible-text.ts'
import type { ParsedArguments } from '../../command.ts'
import { usageError } from '../../failures.ts'
import { formatTable } from '../../format-table.ts'
import { readServerConfig } from '../../read-server-config.ts'
import { readPassword, type Terminal } from '../../terminal.ts'
import { findSockets } from './find-sockets.ts'

const EXIT_REJECTED = 1
/** A command over all grants of a large store can take this long. */
const TIMEOUT_MS = 120_000

/**
 * Sends a command to a running authorization server.
 * @returns the exit code that the help documents.
 * @throws {BootError} ERR_NO_SERVER when no server runs with the data folder. ERR_UNSAFE_SOCKET. ERR_USAGE.
 */
export async function runAdministration(
  action: string,
  given: ParsedArguments,
  terminal: Terminal,
): Promise<number> {
  const input = await readInput(action, given, terminal)
  const { dataDir } = readServerConfig(given, terminal)
  const { status, body } = await send(dataDir, action, input)
  if (status !== 200) {
    const message = body['error_description'] ?? `the server responded with status ${status}.`
    terminal.err.write(`scopegate: ${visibleText(String(message))}\n`)
    return EXIT_REJECTED
  }
  terminal.out.write(given.has('json') ? `${JSON.stringify(body, undefined, 2)}\n` : render(action, body))
  return 0
}

async function readInput(action: string, given: ParsedArguments, terminal: Terminal): Promise<object> {
  const [noun = ''] = action.split(' ')
  const [subject] = given.positionals
  const filters = {
    account: given.text('account'),
    client: given.text('client'),
    search: given.text('search'),
  }
  const olderThan = given.text('older-than')
  const isSelected = Object.values({ ...filters, olderThan }).some((one) => one !== undefined)
  if (subject !== undefined && isSelected)
    throw usageError(action, `name one ${noun} or select ${noun}s with options, but not both`)
  const isSelective = action === 'grant revoke' || action === 'session end'
  if (isSelective && subject === undefined && !isSelected)
    throw usageError(action, `name a ${noun}, or select ${noun}s with an option`)
  const link = given.has('link')
  const expires = given.text('expires')
  const isPassword = action === 'account reset-password' && !link
  if (isPassword && expires !== undefined) throw usageError(action, '--expires requires --link')
  const password = isPassword ? { password: await readPassword(subject ?? '', terminal) } : {}
  return {
    ...filters,
    ...(olderThan === undefined ? {} : { olderThanSeconds: readDuration(action, 'older-than', olderThan) }),
    ...(expires === undefined ? {} : { linkSeconds: readDuration(action, 'expires', expires) }),
    ...(link ? { link } : {}),
    name: given.text('full-name'),
    email: given.text('email'),
    ...(subject === undefined ? {} : { [noun]: subject }),
    ...password,
  }
}

function readDuration(action: string, option: string, duration: string): number {
  const durationMs = parseDurationMs(duration)
  if (durationMs === undefined)
    throw usageError(action, `--${option} takes a duration such as 90d, not "${visibleText(duration)}"`)
  return Math.floor(durationMs / 1_000)
}

type Answer = { readonly status: number; readonly body: Readonly<Record<string, unknown>> }

/** Sends the command to the first server that accepts connections. A socket can be left from a server that crashed. */
async function send(dataDir: string, action: string, input: object): Promise<Answer> {
  for (const path of findSockets(dataDir)) {
    const answer = await sendTo(path, action, input)
    if (answer !== undefined) return answer
  }
  throw new BootError(
    'ERR_NO_SERVER',
    `scopegate: no authorization server runs with the data folder ${visibleText(dataDir)}. Start the server, or run this command as the user of the server, on its machine or in its container.`,
    { exitCode: 3 },
  )
}

const NO_SERVER: readonly (string | undefined)[] = ['ECONNREFUSED', 'ENOENT', 'EACCES']

/** @returns undefined when no server accepts connections at the socket. */
function sendTo(socketPath: string, action: string, input: object): Promise<Answer | undefined> {
  const body = JSON.stringify(input)
  return new Promise((resolve, reject) => {
    const sent = request(
      {
        socketPath,
        method: 'POST',
        path: `/${action.replace(' ', '/')}`,
        headers: { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) },
        timeout: TIMEOUT_MS,
      },
      (response) => {
        text(response)
          .then((content) => {
            const parsed: unknown = JSON.parse(content)
            resolve({ status: response.statusCode ?? 0, body: isRecord(parsed) ? parsed : {} })
          })
          .catch(reject)
      },
    )
    sent.on('timeout', () => sent.destroy(new Error(`no response within ${TIMEOUT_MS / 1_000} s`)))
    sent.on('error', (error: NodeJS.ErrnoException) => {
      if (NO_SERVER.includes(error.code)) resolve(undefined)
      else
        reject(
          new BootError(
            'ERR_NO_SERVER',
            `scopegate: the authorization server did not respond: ${error.message}. The outcome of the command is unknown.`,
            { cause: error },
          ),
        )
    })
    sent.end(body)
  })
}

const COLUMNS = {
  accounts: {
    USERNAME: 'username',
    NAME: 'name',
    EMAIL: 'email',
    ORIGIN: 'origin',
    CREATED: 'created',
    DISABLED: 'disabled',
  },
  clients: { CLIENT: 'client', NAME: 'name', KIND: 'kind', REGISTERED: 'registered', EXPIRES: 'expires' },
  grants: {
    GRANT: 'grant',
    ACCOUNT: 'account',
    CLIENT: 'client',
    CREATED: 'created',
    'LAST TOKEN': 'lastToken',
    EXPIRES: 'expires',
    SCOPES: 'scopes',
  },
  sessions: { SESSION: 'session', ACCOUNT: 'account', 'SIGNED IN': 'signedIn', EXPIRES: 'expires' },
} as const

/** The server fetches the document of the client again for the next authorization request. */
const DOCUMENT_HINT =
  '. People can allow this client again, because its client_id is the URL of a client document. To prevent this, remove the host of the URL from registration.clientDocuments.domains, and restart the server'

const DONE: Readonly<Record<string, (body: Answer['body']) => string>> = {
  'account disable': ({ username }) => `${username} is disabled: all sessions, grants and tokens have ended`,
  'account enable': ({ username }) => `${username} can sign in again`,
  'account remove': ({ username }) => `${username} is removed, with all sessions, grants and tokens`,
  'account reset-password': ({ username }) =>
    `the password of ${username} is set: all sessions, grants and tokens have ended`,
  'account reset-second-factor': ({ username }) => `${username} has no second factor any more`,
  'client remove': ({ client, kind, revoked }) =>
    `${client} is removed; ${count(revoked, 'grant')} revoked${kind === 'document' ? DOCUMENT_HINT : ''}`,
  'grant revoke': ({ revoked }) => `${count(revoked, 'grant')} revoked`,
  'session end': ({ ended }) => `${count(ended, 'session')} ended`,
}

function render(action: string, body: Answer['body']): string {
  const { link, username, expires } = body
  if (typeof link === 'string')
    return `${visibleText(link)}\nscopegate: ${visibleText(String(username))} can set a password with this link, once, until ${show(expires)}. Send the link over a private channel.\n`
  const done = DONE[action]
  if (done !== undefined) return `scopegate: ${visibleText(done(body))}.\n`
  for (const [name, columns] of Object.entries(COLUMNS)) {
    const rows = body[name]
    if (!Array.isArray(rows)) continue
    const cells = rows.filter(isRecord).map((row) => Object.values(columns).map((field) => show(row[field])))
    return `${formatTable([Object.keys(columns), ...cells])}\n${count(rows, name.slice(0, -1))}\n`
  }
  return formatTable(Object.entries(body).map(([name, value]) => [name, show(value)]))
}

function show(value: unknown): string {
  if (value === null || value === undefined) return '-'
  return Array.isArray(value) ? value.join(' ') || '-' : String(value).replace(/\.\d{3}Z$/, 'Z')
}

function count(list: unknown, noun: string): string {
  const number = Array.isArray(list) ? list.length : 0
  return `${number} ${noun}${number === 1 ? '' : 's'}`
}
