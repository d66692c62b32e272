import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { createSecureServer, type ServerHttp2Stream } from 'node:http2'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { join } from 'node:path'
import { Registry } from 'prom-client'
import t, { type Test } from 'tap'
import { openTracing } from '../../../platform/tracing/open-tracing.ts'
import { readTracingSettings } from '../../../platform/tracing/tracing-settings.ts'
import { aCertificate } from '../../fixtures/a-certificate.ts'
import { documentedBlock } from '../../fixtures/repository-texts.ts'
import { SILENT_LOGGER } from '../../fixtures/silent-logger.ts'
import { startTraceReceiver } from '../../fixtures/trace-receiver.ts'
import { until } from '../../fixtures/until.ts'

type Environment = Readonly<Record<string, string>>

const LOGGER: Parameters<typeof openTracing>[0]['logger'] = SILENT_LOGGER

function open(env: Environment, registry = new Registry(), logger = LOGGER) {
  return openTracing({ config: undefined, env, serviceName: 'test', version: '0', registry, logger })
}

/** Records one span, and returns the number of exported spans. Adds the warnings of the log to `lines`. */
async function exportSpan(env: Environment, lines: object[] = []): Promise<number | undefined> {
  const registry = new Registry()
  const tracing = await open(env, registry, { info() {}, warn: (fields: object) => void lines.push(fields) })
  tracing?.startServerSpan('GET test', undefined).end()
  await tracing?.close()
  const metrics = await registry.getMetricsAsJSON()
  return metrics.find(({ name }) => name === 'scopegate_trace_spans_exported_total')?.values[0]?.value
}

/** Starts a receiver that responds with bytes. */
async function startRawReceiver(t: Test, respond: (socket: Socket) => unknown) {
  let requests = 0
  const server = createServer((socket) => {
    socket.on('error', () => {})
    socket.on('data', (bytes) => {
      if (!bytes.includes('POST ')) return
      requests += 1
      respond(socket)
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => server.close())
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, requests: () => requests }
}

/** Starts a receiver with TLS that requires a client certificate, and writes the PEM files of a client. */
async function startTlsReceiver(t: Test) {
  const authority = aCertificate({ authority: true })
  const client = aCertificate({ by: authority })
  const receiver = await startTraceReceiver(t, {
    tls: {
      ...aCertificate({ by: authority }),
      ...{ ca: authority.cert, requestCert: true, rejectUnauthorized: true },
    },
  })
  const folder = t.testdir({ 'ca.pem': authority.cert, 'client.pem': client.cert, 'key.pem': client.key })
  return { receiver, file: (name: string) => join(folder, name) }
}

t.test('the counter of exported spans omits spans that the receiver rejects', async (t) => {
  // partial_success { rejected_spans }, in hexadecimal digits
  for (const [body, exported] of [
    ['0a020801', 0],
    ['0a0b08ffffffffffffffffff01', 0],
    ['0a020800', 1],
    ['not protobuf', 1],
  ] as const) {
    const isHex = /^[0-9a-f]+$/.test(body)
    const receiver = await startTraceReceiver(t, { body: Buffer.from(body, isHex ? 'hex' : 'utf8') })
    t.equal(await exportSpan({ OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url }), exported, body)
  }
})

t.test('the variable of docs/tracing.md turns tracing on', async (t) => {
  const receiver = await startTraceReceiver(t)
  const variable = documentedBlock('docs/tracing.md', 'OTEL_EXPORTER_OTLP_ENDPOINT=')
  const [name = '', value = ''] = variable.trim().split('=')
  t.equal(await exportSpan({ [name]: value.replace('http://otel-collector:4318', receiver.url) }), 1)
})

t.test('the log shows the status of a rejected export, and not the reason phrase', async (t) => {
  const { url } = await startRawReceiver(t, (socket) =>
    socket.end('HTTP/1.1 401 Bearer secret\r\ncontent-length: 0\r\n\r\n'),
  )
  const lines: object[] = []
  await exportSpan({ OTEL_EXPORTER_OTLP_ENDPOINT: url }, lines)
  t.match(lines, [
    { event: 'trace_export_failed', err: { message: 'The receiver responded with the status 401.' } },
  ])
})

t.test('the log shows the failure after which an export was not repeated in time', async (t) => {
  const receiver = await startRawReceiver(t, (socket) =>
    socket.write('HTTP/1.1 503 Busy\r\nretry-after: 999999\r\ncontent-length: 0\r\n\r\n'),
  )
  const lines: object[] = []
  const env = { OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url, OTEL_EXPORTER_OTLP_TIMEOUT: '1500' }
  t.equal(await exportSpan(env, lines), 0)
  t.match(lines, [{ err: { message: 'The receiver responded with the status 503.' } }])
  t.equal(receiver.requests(), 1, 'the service does not send before the time of retry-after')
})

t.test('a shutdown ends an export that waits for its repetition', async (t) => {
  const receiver = await startRawReceiver(t, (socket) =>
    socket.write('HTTP/1.1 503 Busy\r\nretry-after: 999999\r\ncontent-length: 0\r\n\r\n'),
  )
  const env = { OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url, OTEL_EXPORTER_OTLP_TIMEOUT: '2147483647' }
  t.equal(await exportSpan(env), 0)
})

t.test('an export with the status 200 and an incomplete body is successful, and not repeated', async (t) => {
  const receiver = await startRawReceiver(t, (socket) =>
    socket.end('HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nabc'),
  )
  t.equal(await exportSpan({ OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url }), 1)
  t.equal(receiver.requests(), 1)
})

t.test('the next export does not wait for the end of the body of a successful response', async (t) => {
  for (const start of ['content-length: 10\r\n\r\nabc', 'transfer-encoding: chunked\r\n\r\n1\r\na\r\n']) {
    const receiver = await startRawReceiver(t, (socket) => socket.write(`HTTP/1.1 200 OK\r\n${start}`))
    const env = { OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url, OTEL_EXPORTER_OTLP_TIMEOUT: '2147483647' }
    const tracing = await open(env)
    t.teardown(() => tracing?.close())
    for (const count of [1, 2]) {
      tracing?.startServerSpan('GET test', undefined).end()
      await until(`export ${count}`, async () => receiver.requests() === count)
    }
  }
})

t.test('a receiver with TLS can select HTTP/2', async (t) => {
  const authority = aCertificate({ authority: true })
  const folder = t.testdir({ 'ca.pem': authority.cert })
  const streams: ServerHttp2Stream[] = []
  const server = createSecureServer(aCertificate({ by: authority }))
  server.on('stream', (stream) => {
    streams.push(stream)
    stream.respond({ ':status': streams.length === 1 ? 503 : 200 })
    // partial_success { rejected_spans: 0 }, and a body that does not end
    stream.write(Buffer.from('0a020800', 'hex'))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => {
    for (const stream of streams) stream.session?.destroy()
    server.close()
  })
  const env = {
    OTEL_EXPORTER_OTLP_ENDPOINT: `https://127.0.0.1:${(server.address() as AddressInfo).port}`,
    OTEL_EXPORTER_OTLP_CERTIFICATE: join(folder, 'ca.pem'),
    OTEL_EXPORTER_OTLP_TIMEOUT: '2147483647',
  }
  const registry = new Registry()
  const tracing = await open(env, registry)
  t.teardown(() => tracing?.close())
  for (const count of [1, 2]) {
    tracing?.startServerSpan('GET test', undefined).end()
    await until(`export ${count}`, async () =>
      (await registry.metrics()).includes(`scopegate_trace_spans_exported_total ${count}\n`),
    )
  }
  t.equal(streams.length, 3)
})

t.test('a refused export is repeated, with the headers and the compression of the variables', async (t) => {
  const receiver = await startTraceReceiver(t, { statuses: [503] })
  const exported = await exportSpan({
    OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url.replace('//', '//user:p%20w@'),
    OTEL_EXPORTER_OTLP_HEADERS: 'x-tenant=other, x-key=a=b',
    OTEL_EXPORTER_OTLP_TRACES_HEADERS: 'X-Tenant=one%20two',
    OTEL_EXPORTER_OTLP_COMPRESSION: 'gzip',
  })
  t.equal(exported, 1)
  const expected = {
    authorization: `Basic ${Buffer.from('user:p w').toString('base64')}`,
    'content-encoding': 'gzip',
    'content-type': 'application/x-protobuf',
    'user-agent': 'scopegate/0',
    'x-key': 'a=b',
    'x-tenant': 'one two',
  }
  t.match(receiver.headers, [expected, expected])
  t.equal(receiver.headers.length, 2)
  t.match(receiver.spans(), [{ name: 'GET test' }, { name: 'GET test' }])
})

t.test('an export ends while the receiver sends one byte at a time', async (t) => {
  const { url } = await startRawReceiver(t, (socket) => {
    socket.write('HTTP/1.1 200 OK\r\nx-')
    const byte = setInterval(() => socket.write('x'), 10)
    socket.on('close', () => clearInterval(byte))
  })
  const registry = new Registry()
  const tracing = await open(
    { OTEL_EXPORTER_OTLP_ENDPOINT: url, OTEL_EXPORTER_OTLP_TIMEOUT: '200' },
    registry,
  )
  tracing?.startServerSpan('GET test', undefined).end()
  await until('the export failed', async () =>
    /_dropped_total\{reason="export_failed"\} 1$/m.test(await registry.metrics()),
  )
  await tracing?.close()
})

t.test('the variables for TLS configure the connection to the receiver', async (t) => {
  const { receiver, file } = await startTlsReceiver(t)
  const client = {
    OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url,
    OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE: file('client.pem'),
    OTEL_EXPORTER_OTLP_CLIENT_KEY: file('key.pem'),
  }
  t.equal(await exportSpan({ ...client, OTEL_EXPORTER_OTLP_CERTIFICATE: file('ca.pem') }), 1)
  t.equal(receiver.spans().length, 1)
  t.equal(
    await exportSpan({
      ...client,
      OTEL_EXPORTER_OTLP_CERTIFICATE: file('no-such-file.pem'),
      OTEL_EXPORTER_OTLP_TRACES_CERTIFICATE: file('ca.pem'),
    }),
    1,
    'the variable for traces has precedence',
  )
  t.equal(await exportSpan(client), 0, 'the service does not trust an unknown authority')
  t.equal(
    await exportSpan({
      OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url,
      OTEL_EXPORTER_OTLP_CERTIFICATE: file('ca.pem'),
    }),
    0,
    'the receiver requires a client certificate',
  )
  t.equal(receiver.spans().length, 2)
})

t.test('an unusable file for TLS prevents the start, with its cause, variable and path', async (t) => {
  const { receiver, file } = await startTlsReceiver(t)
  writeFileSync(file('other.pem'), aCertificate().key)
  for (const [variables, message] of [
    [
      { OTEL_EXPORTER_OTLP_CERTIFICATE: file('missing.pem') },
      `The file of the variable OTEL_EXPORTER_OTLP_CERTIFICATE cannot be read (ENOENT): ${file('missing.pem')}. `,
    ],
    [
      { OTEL_EXPORTER_OTLP_TRACES_CERTIFICATE: file('key.pem') },
      `The file of the variable OTEL_EXPORTER_OTLP_TRACES_CERTIFICATE contains no certificate: ${file('key.pem')}. `,
    ],
    [
      {
        OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE: file('client.pem'),
        OTEL_EXPORTER_OTLP_CLIENT_KEY: file('other.pem'),
      },
      `The file of the variable OTEL_EXPORTER_OTLP_CLIENT_KEY is not usable (ERR_OSSL_X509_KEY_VALUES_MISMATCH): ${file('other.pem')}. `,
    ],
  ] as const)
    await t.rejects(open({ OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url, ...variables } as Environment), {
      name: 'BootError',
      code: 'ERR_TRACING_VARIABLE',
      message: `${message}Write a PEM file that this user may read to this path, or remove the variable.`,
    })
})

t.test('a base URL can have a path and a query', async (t) => {
  const settings = readTracingSettings(undefined, { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://a/base/?key=1' })
  t.equal(settings?.url, 'http://a/base/v1/traces?key=1')
})

t.test('an invalid variable prevents the start, and the message shows no secret', async (t) => {
  const endpoint = { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:1' }
  const headers = 'must be a list of ASCII headers such as x-tenant=one,authorization=Bearer%20TOKEN.'
  const toOwnHeader = (header: string) =>
    [
      'OTEL_EXPORTER_OTLP_HEADERS',
      `a=secret,${header}=secret`,
      `must be a list of headers without ${header}, which the service sets itself.`,
    ] as const
  for (const [name, value, rest] of [
    [
      'OTEL_EXPORTER_OTLP_ENDPOINT',
      'http://user:secret%@x',
      'must be a URL whose user name and password are percent-encoded.',
    ],
    [
      'OTEL_EXPORTER_OTLP_ENDPOINT',
      'ftp://user:secret@x',
      'must be an http or https URL such as http://otel-collector:4318.',
    ],
    [
      'OTEL_EXPORTER_OTLP_PROTOCOL',
      'grpc',
      'must be http/protobuf, and the endpoint an OTLP port for HTTP such as 4318 (got "grpc").',
    ],
    ['OTEL_TRACES_EXPORTER', 'zipkin', 'must be otlp or none (got "zipkin").'],
    [
      'OTEL_TRACES_SAMPLER',
      'some',
      'must be one of always_on, always_off, traceidratio, parentbased_always_on, parentbased_always_off, parentbased_traceidratio (got "some").',
    ],
    ['OTEL_EXPORTER_OTLP_HEADERS', 'secret', headers],
    ['OTEL_EXPORTER_OTLP_HEADERS', '=secret', headers],
    ['OTEL_EXPORTER_OTLP_HEADERS', 'a=secret,b c=1', headers],
    ['OTEL_EXPORTER_OTLP_HEADERS', 'a=secret%', headers],
    ['OTEL_EXPORTER_OTLP_TRACES_HEADERS', 'a=secret%0d%0ab: 1', headers],
    ['OTEL_EXPORTER_OTLP_HEADERS', 'a=secret-\u00e4', headers],
    ...['content-type', 'content-encoding', 'content-length', 'transfer-encoding'].map(toOwnHeader),
    ...['connection', 'keep-alive', 'upgrade', 'expect'].map(toOwnHeader),
    ['OTEL_EXPORTER_OTLP_TIMEOUT', '0', 'must be a whole number of milliseconds above 0 (got "0").'],
    [
      'OTEL_EXPORTER_OTLP_TRACES_TIMEOUT',
      '10s',
      'must be a whole number of milliseconds above 0 (got "10s").',
    ],
    [
      'OTEL_EXPORTER_OTLP_TIMEOUT',
      '2147483648',
      'must be a whole number of milliseconds above 0 (got "2147483648").',
    ],
    ['OTEL_EXPORTER_OTLP_COMPRESSION', 'zstd', 'must be gzip or none (got "zstd").'],
  ] as const)
    await t.rejects(open({ ...endpoint, [name]: value }), {
      code: 'ERR_TRACING_VARIABLE',
      message: `The variable ${name} ${rest}`,
    })
  const ratio = { OTEL_TRACES_SAMPLER: 'traceidratio', OTEL_TRACES_SAMPLER_ARG: '2' }
  await t.rejects(open({ ...endpoint, ...ratio }), {
    message: 'The variable OTEL_TRACES_SAMPLER_ARG must be a number from 0 to 1 (got "2").',
  })
})
