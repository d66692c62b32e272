import t from 'tap'
import { checkMcpContent, readMcpCall } from '../../../gateway/mcp/read-call.ts'
import { findHeader } from '../../../policy-engine/match/find-header.ts'

const read = (body: string | Buffer) => readMcpCall(Buffer.from(body as string))

t.test('reads the method, and the name from the member that the method defines', async (t) => {
  const params = '{"taskId":"T","uri":"file:///U","name":"N","arguments":{"name":"x","name":"y"}}'
  for (const [method, name] of [
    ['tools/call', 'N'],
    ['prompts/get', 'N'],
    ['resources/read', 'file:///U'],
    ['resources/subscribe', 'file:///U'],
    ['resources/unsubscribe', 'file:///U'],
    ['tasks/get', 'T'],
    ['tasks/update', 'T'],
    ['tasks/cancel', 'T'],
    ['tools/list', undefined],
  ] as const)
    t.same(read(`{"jsonrpc":"2.0","id":1,"method":"${method}","params":${params}}`), { method, name }, method)
  t.same(read('{"method":"ping"}'), { method: 'ping', name: undefined })
  t.same(read('{"jsonrpc":"2.0","id":1,"result":{}}'), { method: undefined, name: undefined }, 'a response')
})

t.test('reads escapes, white space and nesting as a JSON parser does', async (t) => {
  const call = { method: 'tools/call', name: 'a"}\\b' }
  t.same(read('{"\\u006dethod":"tools\\/call","params":{"na\\u006de":"a\\"}\\\\b"}}'), call)
  t.same(
    read(' {\n"params" :\t{ "x":[{"name":"z"},1e3,null] , "name":"a\\"}\\\\b" },\r"method":"tools/call"} '),
    call,
  )
  const deep = `${'['.repeat(20_000)}${']'.repeat(20_000)}`
  t.same(read(`{"method":"tools/call","params":{"arguments":${deep},"name":"a\\"}\\\\b"}}`), call)
})

t.test('rejects each message that another parser could read in another way', async (t) => {
  const call = (params: string) => `{"method":"tools/call","params":${params}}`
  const bodies: Readonly<Record<string, string | Buffer>> = {
    empty: '',
    garbage: 'method=tools/call',
    'a truncated message': '{"method":"tools/call"',
    'two messages': '{"method":"ping"}{"method":"ping"}',
    'a comment': '{"method":"ping"/**/}',
    'a trailing comma': '{"method":"ping",}',
    'a byte order mark': '\ufeff{"method":"ping"}',
    'invalid UTF-8': Buffer.from('{"method":"ping\xff"}', 'latin1'),
    'UTF-16': Buffer.from('{"method":"ping"}', 'utf16le'),
    'a batch': '[{"method":"ping"}]',
    'an empty batch': '[]',
    'no object': '"tools/call"',
    null: 'null',
    'a duplicate method': '{"method":"ping","method":"tools/call"}',
    'a duplicate method with an escape': '{"method":"ping","\\u006dethod":"tools/call"}',
    'duplicate params': '{"method":"tools/call","params":{"name":"a"},"params":{"name":"b"}}',
    'a duplicate name': call('{"name":"a","name":"b"}'),
    'a duplicate name with an escape': call('{"name":"a","na\\u006de":"b"}'),
    'duplicate arguments': call('{"name":"a","arguments":{},"arguments":{}}'),
    'a method in another case': '{"method":"ping","Method":"tools/call"}',
    'only a method in another case': '{"METHOD":"tools/call"}',
    'params with a letter that Go folds': '{"method":"ping","param\u017f":{"name":"b"}}',
    'a name in another case': call('{"name":"a","Name":"b"}'),
    'a key with a zero byte': call('{"name":"a","name\\u0000":"b"}'),
    'a key with a lone surrogate': call('{"name":"a","name\\ud800":"b"}'),
    'a number as the method': '{"method":1}',
    'null as the method': '{"method":null}',
    'an empty method': '{"method":""}',
    'a method with a space': '{"method":" tools/call"}',
    'a tool call without params': '{"method":"tools/call"}',
    'a list as params': call('["a"]'),
    'null as params': '{"method":"ping","params":null}',
    'no name': call('{"uri":"a"}'),
    'a number as the name': call('{"name":1}'),
    'an object as the name': call('{"name":{"name":"a"}}'),
    'an empty name': call('{"name":""}'),
    'a name with a lone surrogate': call('{"name":"a\\udc00"}'),
    'a name with a line break': call('{"name":"a\\nb"}'),
    'a name with a byte order mark': call('{"name":"\ufeffa"}'),
    'an inherited name': call('{"__proto__":{"name":"a"}}'),
    'an inherited method': '{"__proto__":{"method":"ping"},"method":"tools/call","params":{}}',
  }
  for (const [what, body] of Object.entries(bodies))
    t.match(read(body), { rejected: 'mcp_body_invalid' }, what)
  t.notMatch(JSON.stringify(Object.values(bodies).map(read)), /"a|file:/, 'no text of the body')
  const rule = 'which is not empty and has no control characters and no outer white space'
  for (const name of ['1', '""', '"a\\n"'])
    t.match(read(call(`{"name":${name}}`)), {
      detail: `This MCP method requires a text in params.name, ${rule}.`,
    })
  t.match(read('{"method":"ping\\n"}'), { detail: `The method of the MCP message must be a text, ${rule}.` })
})

t.test('accepts only plain JSON in UTF-8', async (t) => {
  const check = (...headers: readonly string[]) =>
    checkMcpContent({ header: (name) => findHeader(headers, name) })
  for (const type of [
    'application/json',
    'Application/JSON',
    'application/json; charset=utf-8',
    'application/json;charset="UTF-8"',
  ])
    t.equal(check('content-type', type), undefined, type)
  t.equal(check('content-type', 'application/json', 'content-encoding', 'identity'), undefined)
  for (const headers of [
    [],
    ['content-type', 'text/plain'],
    ['content-type', 'application/json; charset=utf-7'],
    ['content-type', 'application/json, text/plain'],
    ['content-type', 'application/jsonp'],
    ['content-type', 'application/json', 'content-type', 'application/json'],
    ['Content_Type', 'application/json'],
    ['content-type', 'application/json', 'content-encoding', 'gzip'],
    ['content-type', 'application/json', 'content-encoding', 'identity, gzip'],
    ['content-type', 'application/json', 'content_encoding', 'gzip'],
  ])
    t.match(check(...headers), { rejected: 'mcp_body_invalid' }, headers.join(' '))
})
