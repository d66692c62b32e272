import { once } from 'node:events'
import { request as httpRequest, type IncomingMessage } from 'node:http'
import { type AddressInfo, createServer } from 'node:net'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { isDeepStrictEqual } from 'node:util'
import fc from 'fast-check'
import t, { type Test } from 'tap'
import { createConnector } from '../../../../gateway/upstreams/connect.ts'
import { ConnectionPool } from '../../../../gateway/upstreams/http1/connection-pool.ts'
import { type GeneratedResponse, generatedResponse } from '../../../fixtures/generated-response.ts'
import { readWithLlhttp } from '../../../fixtures/llhttp.ts'
import { readWithClient, recordDispatch, requestOf } from '../../../fixtures/read-with-client.ts'
import { groupHeaders, type Head, type ResponseReading } from '../../../fixtures/response-reading.ts'
import { unlimitedConnections } from '../../../fixtures/unlimited-connections.ts'

// FUZZ_RESPONSES_RUNS sets the number of responses, and selects a new seed. The message of a failure contains the seed.
// FUZZ_RESPONSES_SEED repeats a run with this seed.
const FUZZ_RUNS = process.env['FUZZ_RESPONSES_RUNS']
const FUZZ_SEED = process.env['FUZZ_RESPONSES_SEED']
const RUNS = Number(FUZZ_RUNS ?? 1_100)
const SOCKET_RUNS = 200
const LIMIT_MS = 120_000 + RUNS * 10

/** Without environment variables, every run uses the same seeds. */
function chooseSeeds(): readonly number[] {
  if (FUZZ_SEED !== undefined) return [Number(FUZZ_SEED)]
  return FUZZ_RUNS === undefined ? [1, 2, 3, 4, 5] : [Date.now() % 2 ** 31]
}

/** An intended difference between the client and llhttp. The client is stricter. */
type Rule = {
  readonly name: string
  /** Error of the client. Undefined if the client also accepts the response. */
  readonly error?: RegExp
  readonly applies: (bytes: string, theirs: ResponseReading, given: GeneratedResponse) => boolean
}

const valuesOf = (head: { headers: Head['headers'] } | undefined, name: string): readonly string[] =>
  head?.headers.find(([one]) => one === name)?.[1] ?? []
const headsOf = ({ interim, head }: ResponseReading): readonly Head[] =>
  head === undefined ? interim : [...interim, head]

const CLOSE = /^(?:proxy-)?connection:.*close/im

/** Responses that llhttp accepts and the client rejects. */
const REJECTED: readonly Rule[] = [
  {
    name: 'bytes before the status line',
    error: /not HTTP\/1\.x/,
    applies: (bytes) => /^[\r\n]/.test(bytes),
  },
  {
    name: 'another protocol version',
    error: /not HTTP\/1\.x/,
    applies: (bytes) => /^(?!HTTP\/1\.[01] )|\n(?!HTTP\/1\.[01] )[A-Z]+\/\d\.\d \d{3}/.test(bytes),
  },
  {
    name: 'a status below 100',
    error: /status is not a number/,
    applies: (bytes) => /^HTTP\/1\.[01] 0\d\d[\r ]/m.test(bytes),
  },
  {
    name: 'a control character in the reason',
    error: /status line has an invalid end|head has an invalid character/,
    // biome-ignore lint/suspicious/noControlCharactersInRegex: the subject of the rule
    applies: (bytes) => /^HTTP\/1\.[01] \d{3} [^\r\n]*[\0-\x08\x0b\x0c\x0e-\x1f\x7f]/m.test(bytes),
  },
  {
    name: 'a head above 32 KiB',
    error: /head is too large/,
    applies: (_bytes, theirs) => headsOf(theirs).some((head) => JSON.stringify(head).length > 32 * 1024),
  },
  {
    name: 'more than 512 headers',
    error: /too many headers/,
    applies: (_bytes, theirs) =>
      headsOf(theirs).some(({ headers }) => headers.flatMap(([, values]) => values).length > 512),
  },
  {
    name: 'a Content-Length of more than 15 digits',
    error: /Content-Length is not a number/,
    applies: (bytes) => /^content-length:[\t ]*\d{16}/im.test(bytes),
  },
  {
    name: 'two Transfer-Encoding headers',
    error: /two Transfer-Encoding/,
    applies: (_bytes, theirs) =>
      headsOf(theirs).some((head) => valuesOf(head, 'transfer-encoding').length > 1),
  },
  {
    name: 'a transfer coding other than chunked',
    error: /Transfer-Encoding is not chunked/,
    applies: (bytes) => /^transfer-encoding:(?![\t ]*chunked *\r\n)/im.test(bytes),
  },
  {
    name: 'Transfer-Encoding in HTTP/1.0',
    error: /Transfer-Encoding in HTTP\/1\.0/,
    applies: (bytes) => /^HTTP\/1\.0 /m.test(bytes) && /^transfer-encoding:/im.test(bytes),
  },
  {
    name: 'an interim response that announces content',
    error: /interim response announces content/,
    applies: (_bytes, { interim }) =>
      interim.some(
        (head) =>
          valuesOf(head, 'transfer-encoding').length > 0 ||
          valuesOf(head, 'content-length').some((length) => length !== '0'),
      ),
  },
  {
    name: 'an interim response that ends the connection',
    error: /interim response ends the connection/,
    applies: (bytes) => /^HTTP\/1\.0 1/m.test(bytes) && CLOSE.test(bytes),
  },
  {
    name: 'a protocol switch without a request',
    error: /switches protocols without a request/,
    applies: (bytes) => /^HTTP\/1\.[01] 101/m.test(bytes),
  },
  {
    name: 'a chunk size of more than 12 digits',
    error: /chunk is too large/,
    applies: (bytes) => /^[\da-f]{13}/im.test(bytes),
  },
  {
    name: 'a chunk extension of more than 256 bytes',
    error: /chunk extension is too long/,
    applies: (bytes) => /^[\da-f]+;[^\r]{256}/im.test(bytes),
  },
  {
    name: 'a chunk extension with an empty name or value, or with a quote after a token',
    error: /chunk extension is invalid/,
    applies: (bytes) => /^[\da-f]+(?:;.*)?;(?:=|[^=\r]+=(?:[;\r]|[^"\r]+"))/im.test(bytes),
  },
  {
    name: 'trailers above 8 KiB',
    error: /trailers are too large/,
    applies: (_bytes, { trailers }) => JSON.stringify(trailers).length > 8 * 1024,
  },
  {
    name: 'a trailer that is a framing header',
    error: /trailer is a framing header/,
    applies: (_bytes, { trailers }) =>
      trailers.some(([name]) => /^(?:transfer-encoding|(?:proxy-)?connection)$/.test(name)),
  },
]

/** The client and llhttp accept these responses. Only llhttp keeps the connection open after them. */
const CLOSED: readonly Rule[] = [
  {
    name: 'a response to HEAD',
    applies: (_bytes, _theirs, { method }) => method === 'HEAD',
  },
  {
    name: 'a status without content, with headers that announce content',
    applies: (_bytes, { head }) =>
      (head?.status === 204 || head?.status === 304) &&
      (valuesOf(head, 'transfer-encoding').length > 0 || valuesOf(head, 'content-length').join() > '0'),
  },
  {
    name: 'a line break after the response',
    applies: (bytes, _theirs, given) =>
      /[\r\n]$/.test(bytes) && readWithLlhttp({ ...given, packets: [bytes.slice(0, -1)] }).reusable,
  },
  {
    name: 'HTTP/1.0 with both keep-alive and close',
    applies: (bytes) => /^HTTP\/1\.0 /m.test(bytes) && CLOSE.test(bytes),
  },
]

/** Only llhttp delivers these parts of a response. */
const DROPPED: readonly Rule[] = [
  { name: 'trailers', applies: (_bytes, { trailers }) => trailers.length > 0 },
]

const uses = new Map<Rule, number>()

function useRule(rules: readonly Rule[], given: GeneratedResponse, theirs: ResponseReading): boolean {
  const bytes = given.packets.join('')
  const rule = rules.find((one) => one.applies(bytes, theirs, given))
  if (rule !== undefined) uses.set(rule, (uses.get(rule) ?? 0) + 1)
  return rule !== undefined
}

/** Returns a difference between the client and llhttp. Returns undefined if a rule explains every difference. */
function findDifference(
  given: GeneratedResponse,
  ours: ResponseReading,
  theirs: ResponseReading,
): string | undefined {
  if (!isDeepStrictEqual(ours.interim, theirs.interim.slice(0, ours.interim.length)))
    return 'delivers other interim responses'
  if (ours.head !== undefined && !isDeepStrictEqual(ours.head, theirs.head)) return 'delivers another head'
  if (!theirs.body.startsWith(ours.body)) return 'delivers other bytes'
  if (ours.outcome === 'complete') {
    if (theirs.outcome !== 'complete') return 'accepts a response that llhttp does not accept'
    if (ours.interim.length < theirs.interim.length || ours.body.length < theirs.body.length)
      return 'delivers only a part'
    if (ours.reusable && !theirs.reusable) return 'keeps a connection that llhttp does not keep'
    if (!ours.reusable && theirs.reusable && !useRule(CLOSED, given, theirs))
      return 'closes a connection without a rule'
    useRule(DROPPED, given, theirs)
    return undefined
  }
  if (theirs.outcome !== 'complete') return undefined
  if (ours.outcome === 'unfinished') return 'waits after the end of the response'
  const rules = REJECTED.filter(({ error }) => error?.test(ours.error))
  return useRule(rules, given, theirs) ? undefined : 'rejects a response without a rule'
}

/** @throws {Error} for a difference that no rule explains. */
function compare(given: GeneratedResponse, ours: ResponseReading, theirs: ResponseReading): void {
  const difference = findDifference(given, ours, theirs)
  if (difference !== undefined)
    throw new Error(`the client ${difference}: ${JSON.stringify({ given, ours, theirs }, undefined, 2)}`)
}

let accepted = 0

for (const seed of chooseSeeds())
  t.test(
    `the client reads ${RUNS} generated responses at least as strictly as llhttp, seed ${seed}`,
    { timeout: LIMIT_MS },
    async () => {
      const property = fc.property(generatedResponse, (given) => {
        const theirs = readWithLlhttp(given)
        const ours = readWithClient(given)
        if (ours.outcome === 'complete') accepted += 1
        compare(given, ours, theirs)
      })
      fc.assert(property, { numRuns: RUNS, seed })
    },
  )

t.test(
  'the generated responses use each rule, and the client accepts at least a third of the responses',
  async (t) => {
    for (const rule of [...REJECTED, ...CLOSED, ...DROPPED]) t.ok(uses.has(rule), rule.name)
    t.ok(accepted > (chooseSeeds().length * RUNS) / 3, `${accepted} accepted`)
  },
)

/** Starts an upstream that sends the generated responses. The path of a request is the index of the response. */
async function startSender(t: Test, responses: readonly GeneratedResponse[]): Promise<number> {
  const server = createServer((socket) => {
    socket.on('error', () => undefined)
    let received = ''
    socket.on('data', async (chunk) => {
      received += chunk.toString('latin1')
      if (!received.endsWith('\r\n\r\n')) return
      const number = /^\w+ \/(\d+) /.exec(received)?.[1]
      for (const packet of responses[Number(number)]?.packets ?? []) {
        if (socket.destroyed) return
        socket.write(packet, 'latin1')
        await nextTurn()
      }
      socket.end()
    })
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  t.teardown(() => server.close())
  return (server.address() as AddressInfo).port
}

async function readWithPool(
  pool: ConnectionPool,
  given: GeneratedResponse,
  path: string,
): Promise<ResponseReading> {
  const record = recordDispatch(() => {
    if (!given.pauses) return
    controller.pause()
    setImmediate(() => controller.resume())
  })
  const controller = pool.dispatch(requestOf(given.method, path), record.handler)
  await record.over
  return record.read(false)
}

/** Reads a response with the client of `node:http`. This client uses llhttp in strict mode. */
async function readWithNode(
  port: number,
  { method }: GeneratedResponse,
  path: string,
): Promise<ResponseReading> {
  const interim: Head[] = []
  let response: IncomingMessage | undefined
  let body = ''
  let switched = false
  let error = ''
  const request = httpRequest({
    host: '127.0.0.1',
    port,
    path,
    method,
    agent: false,
    maxHeaderSize: 1024 * 1024,
  })
  request.on('information', ({ statusCode, rawHeaders }) =>
    interim.push({ status: statusCode, headers: groupHeaders(rawHeaders) }),
  )
  request.on('response', (given) => {
    response = given
    given.on('data', (chunk) => {
      body += chunk.toString('latin1')
    })
    given.on('error', () => undefined)
  })
  request.on('upgrade', (given, socket) => {
    response = given
    switched = true
    socket.destroy()
  })
  request.on('error', (failure) => {
    error = failure.message
  })
  await new Promise((resolve) => request.on('close', resolve).end())
  return {
    interim,
    head:
      response === undefined
        ? undefined
        : { status: response.statusCode ?? 0, headers: groupHeaders(response.rawHeaders) },
    body,
    trailers: groupHeaders(response?.rawTrailers ?? []),
    outcome: switched || response?.complete === true ? 'complete' : 'rejected',
    error,
    reusable: false,
  }
}

t.test(
  `the client reads ${SOCKET_RUNS} generated responses from sockets at least as strictly as node:http`,
  { timeout: LIMIT_MS },
  async (t) => {
    const responses = fc
      .sample(generatedResponse, { numRuns: SOCKET_RUNS, seed: chooseSeeds()[0] ?? 0 })
      .map((given) => ({ ...given, ends: true }))
    const port = await startSender(t, responses)
    const connection = {
      timeoutMs: 20_000,
      lookup: undefined,
      certificate: undefined,
      ca: undefined,
      readsEarlyResponses: true,
    }
    const pool = new ConnectionPool(`http://127.0.0.1:${port}`, {
      connect: createConnector({ ...connection, reading: 'shared' }),
      connectPlainly: createConnector({ ...connection, reading: 'stream' }),
      idleMs: 60_000,
      connections: unlimitedConnections(),
    })
    t.teardown(() => pool.destroy())
    let complete = 0
    for (const [number, given] of responses.entries()) {
      const theirs = await readWithNode(port, given, `/${number}`)
      const ours = await readWithPool(pool, given, `/${number}`)
      compare(given, ours, theirs)
      if (theirs.outcome === 'complete') complete += 1
    }
    t.ok(complete > SOCKET_RUNS / 3, `${complete} complete`)
  },
)
