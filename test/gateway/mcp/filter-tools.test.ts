import t from 'tap'
import { filterTools } from '../../../gateway/mcp/filter-tools.ts'

const isAllowed = (name: string): boolean => name === 'a' || name === 'c'
const JSON_TYPE = { 'content-type': 'application/json' }
const EVENTS = { 'content-type': 'text/event-stream' }

function filter(body: string, headers: Readonly<Record<string, string>> = JSON_TYPE, status = 200) {
  return filterTools({ status, headers, body: Buffer.from(body) }, isAllowed)?.toString()
}

const list = (tools: string, more = '') => `{"jsonrpc":"2.0","id":1,"result":{"tools":${tools}${more}}}`

t.test('removes the other tools, and changes no byte of the rest', async (t) => {
  const a = '{"name":"a","inputSchema":{"maximum":12345678901234567890,"x":"]\\"}"}}'
  const c = '{ "title":"\u00e9", "na\\u006de":"c" }'
  t.equal(filter(list(`[${a} , {"name":"b"},\n ${c}]`)), list(`[${a},${c}]`))
  t.equal(filter(list('[]')), list('[]'))
  t.equal(filter(list(' [ {"name":"b"} ] ', ',"nextCursor":"x"')), list(' [] ', ',"nextCursor":"x"'))
})

t.test('a list for one caller is not cacheable for all callers', async (t) => {
  t.equal(
    filter(list('[]', ',"ttlMs":5,"cacheScope":"public"')),
    list('[]', ',"ttlMs":5,"cacheScope":"private"'),
  )
  t.equal(
    filter('{"result":{"cacheScope":"public","tools":[{"name":"b"}]}}'),
    '{"result":{"cacheScope":"private","tools":[]}}',
  )
})

t.test('filters each message of an event stream', async (t) => {
  const note = '{"jsonrpc":"2.0","method":"notifications/message","params":{}}'
  const two = list('[{"name":"a"},{"name":"b"}]')
  t.equal(
    filter(
      `: comment\n\nid: 1\r\ndata: \r\n\r\ndata:${note}\n\nevent: message\nid: 2\ndata: ${two}\n\n`,
      EVENTS,
    ),
    `id: 1\ndata: \n\ndata: ${note}\n\nevent: message\nid: 2\ndata: ${list('[{"name":"a"}]')}\n\n`,
  )
  t.equal(
    filter('data: {"result":\ndata: {"tools":[{"name":"b"}]}}\r\r', EVENTS),
    'data: {"result": {"tools":[]}}\n\n',
  )
})

t.test('changes no error and no empty response', async (t) => {
  t.equal(filter('not JSON', { 'content-type': 'text/html' }, 500), 'not JSON')
  t.equal(filter('', {}, 202), '')
  const error = '{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"x"}}'
  t.equal(filter(error), error)
})

t.test('returns no list that it cannot filter', async (t) => {
  const two = list('[{"name":"a"},{"name":"b"}]')
  for (const [what, body, headers] of [
    ['garbage', 'tools', JSON_TYPE],
    ['another type', two, { 'content-type': 'text/plain' }],
    ['no type', two, {}],
    ['a content coding', two, { ...JSON_TYPE, 'content-encoding': 'gzip' }],
    ['a byte order mark', `\ufeff${two}`, JSON_TYPE],
    ['a batch', `[${two}]`, JSON_TYPE],
    ['a duplicate result', '{"result":{"tools":[]},"result":{"tools":[{"name":"b"}]}}', JSON_TYPE],
    ['a result in another case', '{"Result":{"tools":[{"name":"b"}]}}', JSON_TYPE],
    ['null as the result', '{"result":null}', JSON_TYPE],
    ['a result without tools', '{"result":{}}', JSON_TYPE],
    ['tools in another case', '{"result":{"tools":[],"Tools":[{"name":"b"}]}}', JSON_TYPE],
    ['duplicate tools', '{"result":{"tools":[],"tools":[{"name":"b"}]}}', JSON_TYPE],
    ['tools as a map', list('{"a":{"name":"a"}}'), JSON_TYPE],
    ['a tool that is a text', list('["a"]'), JSON_TYPE],
    ['a tool without a name', list('[{"title":"a"}]'), JSON_TYPE],
    ['a duplicate name', list('[{"name":"b","name":"a"}]'), JSON_TYPE],
    ['a name in another case', list('[{"name":"a","NAME":"b"}]'), JSON_TYPE],
    ['an incomplete event', `data: ${two}\n`, EVENTS],
    ['an event without a line end', `data: ${two}`, EVENTS],
    ['an event with garbage', 'data: tools\n\n', EVENTS],
    ['an event stream with a byte order mark', `\ufeffdata: ${two}\n\n`, EVENTS],
  ] as const)
    t.equal(filter(body, headers), undefined, what)
  t.equal(filterTools({ status: 200, headers: JSON_TYPE, body: Buffer.from([0xff]) }, isAllowed), undefined)
})
