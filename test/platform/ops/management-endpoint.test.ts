import t, { type Test } from 'tap'
import type { ManagementEndpoint } from '../../../platform/ops/management-endpoint.ts'
import { startOpsServer } from '../../../platform/ops/ops-server.ts'
import { sendBytes } from '../../fixtures/send-bytes.ts'
import { SILENT_LOGGER } from '../../fixtures/silent-logger.ts'

async function start(t: Test, ...endpoints: readonly ManagementEndpoint[]): Promise<string> {
  return startAt(t, '127.0.0.1', endpoints)
}

async function startAt(t: Test, host: string, endpoints: readonly ManagementEndpoint[]): Promise<string> {
  const server = await startOpsServer({
    host,
    port: 0,
    service: 'test',
    version: '0',
    metrics: async () => [],
    checks: () => [],
    endpoints,
    logger: SILENT_LOGGER,
  })
  t.teardown(() => server.close())
  return server.url
}

/** Sends a request and returns the status, the body, and the headers that clients use. */
async function send(url: string, method: string, headers: Record<string, string> = {}, body = '') {
  const length = body === '' ? {} : { 'content-length': String(body.length) }
  const fields = { host: 'localhost', connection: 'close', ...length, ...headers }
  const head = Object.entries(fields).map(([name, value]) => `${name}: ${value}\r\n`)
  const { pathname } = new URL(url)
  const { text } = await sendBytes(url, `${method} ${pathname} HTTP/1.1\r\n${head.join('')}\r\n${body}`)
  const [top = '', rest = ''] = text.split('\r\n\r\n')
  const read = (name: string): string | undefined => new RegExp(`^${name}: (.*?)\r?$`, 'im').exec(top)?.[1]
  return {
    status: Number(top.slice(9, 12)),
    type: read('content-type'),
    cache: read('cache-control'),
    allow: read('allow'),
    body: rest,
  }
}

const JSON_TYPE = 'application/json; charset=utf-8'

t.test('an endpoint responds with its status, type and body, and forbids caching', async (t) => {
  const url = await start(
    t,
    { method: 'GET', path: '/object', respond: () => ({ status: 200, body: { a: 1 } }) },
    { method: 'GET', path: '/text', respond: async () => ({ status: 503, body: '{"b":2}' }) },
    { method: 'POST', path: '/typed', respond: () => ({ status: 202, body: 'c', type: 'text/plain' }) },
  )
  t.strictSame(await send(`${url}/object`, 'GET'), {
    status: 200,
    type: JSON_TYPE,
    cache: 'no-store',
    allow: undefined,
    body: '{"a":1}',
  })
  t.strictSame(await send(`${url}/object`, 'HEAD'), {
    status: 200,
    type: JSON_TYPE,
    cache: 'no-store',
    allow: undefined,
    body: '',
  })
  t.strictSame(await send(`${url}/text`, 'GET'), {
    status: 503,
    type: JSON_TYPE,
    cache: 'no-store',
    allow: undefined,
    body: '{"b":2}',
  })
  t.strictSame(await send(`${url}/typed`, 'POST'), {
    status: 202,
    type: 'text/plain',
    cache: 'no-store',
    allow: undefined,
    body: 'c',
  })
})

t.test('an endpoint responds to another method with 405 and the allowed methods', async (t) => {
  const calls: string[] = []
  const answer = (name: string) => () => {
    calls.push(name)
    return { status: 200, body: {} }
  }
  const url = await start(
    t,
    { method: 'GET', path: '/state', respond: answer('state') },
    { method: 'POST', path: '/change', respond: answer('change') },
  )
  for (const [path, allow, description, methods] of [
    ['/state', 'GET, HEAD', 'Allowed: GET, HEAD.', ['POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']],
    ['/change', 'POST', 'Allowed: POST.', ['GET', 'HEAD', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']],
  ] as const)
    for (const method of methods)
      t.strictSame(
        await send(`${url}${path}`, method),
        {
          status: 405,
          type: JSON_TYPE,
          cache: undefined,
          allow,
          body:
            method === 'HEAD' ? '' : `{"error":"method_not_allowed","error_description":"${description}"}`,
        },
        `${method} ${path}`,
      )
  t.strictSame(calls, [])
})

t.test('a POST or PUT request from a web page changes nothing and gets 403', async (t) => {
  let calls = 0
  const answer = () => {
    calls += 1
    return { status: 200, body: {} }
  }
  const url = await start(
    t,
    { method: 'POST', path: '/change', respond: answer },
    { method: 'PUT', path: '/set', respond: answer },
    { method: 'GET', path: '/state', respond: answer },
  )
  for (const headers of [
    { origin: 'https://evil.example' },
    { origin: 'null' },
    { origin: '' },
    { 'sec-fetch-site': 'same-origin' },
    { 'sec-fetch-site': 'cross-site' },
    { 'sec-fetch-site': 'none', origin: 'http://localhost' },
  ])
    t.strictSame(
      await send(`${url}/change`, 'POST', headers as unknown as Record<string, string>),
      {
        status: 403,
        type: JSON_TYPE,
        cache: 'no-store',
        allow: undefined,
        body: '{"error":"access_denied","error_description":"This endpoint rejects requests from web pages. Send the request from a program, without an Origin header."}',
      },
      JSON.stringify(headers),
    )
  t.equal((await send(`${url}/set`, 'PUT', { origin: 'null' })).status, 403)
  t.equal(calls, 0)
  t.equal((await send(`${url}/change`, 'POST', { 'sec-fetch-site': 'none' })).status, 200)
  t.equal((await send(`${url}/change`, 'POST')).status, 200)
  t.equal((await send(`${url}/state`, 'GET', { origin: 'https://evil.example' })).status, 200)
  t.equal(calls, 3)
})

t.test('an endpoint ignores a body of any type up to 1,024 bytes, and rejects a larger body', async (t) => {
  const url = await start(t, { method: 'POST', path: '/change', respond: () => ({ status: 200, body: {} }) })
  for (const type of ['application/json', 'text/plain', 'application/x-unknown'])
    t.equal(
      (await send(`${url}/change`, 'POST', { 'content-type': type }, '{'.repeat(1_024))).status,
      200,
      type,
    )
  t.equal((await send(`${url}/change`, 'POST', {}, 'x')).status, 200, 'without a type')
  t.match(await send(`${url}/change`, 'POST', { 'content-type': 'text/plain' }, 'x'.repeat(1_025)), {
    status: 413,
    type: JSON_TYPE,
    body: '{"error":"invalid_request","error_description":"The body must have at most 1024 bytes."}',
  })
})

t.test('endpoints for different methods share a path', async (t) => {
  const url = await start(
    t,
    { method: 'GET', path: '/level', respond: () => ({ status: 200, body: { read: true } }) },
    { method: 'PUT', path: '/level', respond: () => ({ status: 200, body: { written: true } }) },
  )
  t.equal((await send(`${url}/level`, 'GET')).body, '{"read":true}')
  t.equal((await send(`${url}/level`, 'PUT')).body, '{"written":true}')
  t.match(await send(`${url}/level`, 'DELETE'), {
    status: 405,
    allow: 'GET, HEAD, PUT',
    body: '{"error":"method_not_allowed","error_description":"Allowed: GET, HEAD, PUT."}',
  })
})

t.test('an endpoint for JSON gets the parsed body and the address of the client', async (t) => {
  const url = await start(t, {
    method: 'PUT',
    path: '/level',
    reads: 'json',
    respond: ({ body, clientAddress }) => ({ status: 200, body: { body, clientAddress } }),
  })
  for (const type of ['application/json', 'Application/JSON; charset=utf-8', 'application/json ;x=y'])
    for (const body of ['{"a":[1]}', '7', 'null'])
      t.strictSame(
        JSON.parse((await send(`${url}/level`, 'PUT', { 'content-type': type }, body)).body),
        { body: JSON.parse(body), clientAddress: '127.0.0.1' },
        `${type} ${body}`,
      )
})

t.test('an endpoint for JSON rejects other media types, invalid JSON and large bodies', async (t) => {
  let calls = 0
  const url = await start(t, {
    method: 'PUT',
    path: '/level',
    reads: 'json',
    respond() {
      calls += 1
      return { status: 200, body: {} }
    },
  })
  const put = async (type: string | undefined, body: string) => {
    const response = await send(
      `${url}/level`,
      'PUT',
      type === undefined ? {} : { 'content-type': type },
      body,
    )
    return [response.status, JSON.parse(response.body).error_description] as const
  }
  const otherType = [415, 'Send the body as JSON, with the header Content-Type: application/json.'] as const
  for (const type of [undefined, 'text/plain', 'application/jsonx', 'application/x-www-form-urlencoded'])
    t.strictSame(await put(type, '{}'), otherType, type ?? 'without a type')
  t.strictSame(await put(undefined, ''), otherType, 'without a body')
  for (const body of ['', '{', '{"a":1}x', 'undefined', "{'a':1}"])
    t.strictSame(await put('application/json', body), [400, 'The body is not valid JSON.'], body)
  const large = JSON.stringify('x'.repeat(1_023))
  t.strictSame(await put('application/json', large), [413, 'The body must have at most 1024 bytes.'])
  t.strictSame(await put('nonsense', '{}'), [415, 'The headers or the body of the request are not valid.'])
  t.equal(calls, 0)
})

t.test('an endpoint gets the IPv4 address of a client on a dual-stack port', async (t) => {
  const addresses: string[] = []
  const respond: ManagementEndpoint['respond'] = ({ clientAddress }) => {
    addresses.push(clientAddress)
    return { status: 200, body: {} }
  }
  const url = await startAt(t, '::', [
    { method: 'GET', path: '/address', respond },
    { method: 'PUT', path: '/address', reads: 'json', respond },
  ])
  const { port } = new URL(url)
  const ipv4 = `http://127.0.0.1:${port}/address`
  t.equal((await send(ipv4, 'GET')).status, 200)
  t.equal((await send(ipv4, 'PUT', { 'content-type': 'application/json' }, '{}')).status, 200)
  t.strictSame(addresses, ['127.0.0.1', '127.0.0.1'])
})
