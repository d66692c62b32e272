import t from 'tap'
import { readForm, readJsonObject, readMediaType } from '../../../authorization-server/endpoints/read-body.ts'
import { canonicalizeResource } from '../../../authorization-server/endpoints/request-parameters.ts'

const FORM = 'application/x-www-form-urlencoded'

t.test('readMediaType() rejects an invalid media type', async (t) => {
  const values = [
    undefined,
    '',
    'json',
    'application/json\ta',
    'application/json a',
    'application/json; charset',
    'application/json; charset="utf-8',
    'application/json, text/html',
    'application/json; boundary=x',
  ]
  for (const value of values) t.equal(readMediaType(value), undefined, JSON.stringify(value) ?? 'missing')
  t.same(readMediaType('Application/JSON; Charset="UTF-8"'), { type: 'application/json', charset: 'utf-8' })
  t.same(readMediaType(FORM), { type: FORM, charset: undefined })
})

t.test('readMediaType() reads type and charset in any case', async (t) => {
  const json = { type: 'application/json', charset: undefined }
  const utf8 = { type: 'application/json', charset: 'utf-8' }
  for (const [value, expected] of [
    ['application/json;', json],
    ['application/json ;', json],
    ['application/json;charset=utf-8', utf8],
    ['application/json ; CHARSET=utf-8 ;', utf8],
    ['application/json; charset="UTF-8";', utf8],
    ['application/json; charset=iso_8859-1.x', { ...json, charset: 'iso_8859-1.x' }],
    ['a+b.c-09z/D+E.F-95z', { type: 'a+b.c-09z/d+e.f-95z', charset: undefined }],
    [' application/json', undefined],
    ['application/json;;', undefined],
    ['application/json; charset=', undefined],
    ["application/json; charset='utf-8'", undefined],
  ] as const)
    t.strictSame(readMediaType(value), expected, value)
})

t.test('readForm() returns the reason when it rejects a body', async (t) => {
  const read = (contentType: string | undefined, body: Buffer | undefined) =>
    readForm(contentType === undefined ? {} : { 'content-type': contentType }, body)
  const rejected = (description: string) => ({
    rejected: { status: 400, error: 'invalid_request', description },
  })
  const type = rejected('Send the parameters as application/x-www-form-urlencoded in the body.')
  t.strictSame(read(undefined, Buffer.from('a=b')), type)
  t.strictSame(read('application/json', Buffer.from('a=b')), type)
  t.strictSame(read(`${FORM}; charset=klingon`, Buffer.from('a=b')), rejected('The body must be UTF-8.'))
  const long = 'x'.repeat(41)
  for (const [name, shown] of [
    ['code', 'code'],
    [long, 'x'.repeat(40)],
    ['a b"c\\d~!#[]\x7fé', 'a?b?c?d~!#[]??'],
  ] as const) {
    const pair = new URLSearchParams([[name, '1']])
    t.strictSame(
      read(FORM, Buffer.from(`${pair}&${pair}`)),
      rejected(`The parameter ${shown} occurs more than once. Send it once.`),
    )
  }
  const form = (body: Buffer | undefined, type = FORM) => {
    const result = read(type, body)
    return 'form' in result ? [...result.form] : result.rejected
  }
  t.strictSame(form(undefined), [])
  t.strictSame(form(Buffer.from('a=%C3%A9+1&resource=x&resource=y&b='), `${FORM}; charset=UTF-8`), [
    ['a', 'é 1'],
    ['resource', 'x'],
    ['resource', 'y'],
    ['b', ''],
  ])
})

t.test('readJsonObject() returns the reason when it rejects a body', async (t) => {
  const read = (type: string, body: string) => readJsonObject({ 'content-type': type }, Buffer.from(body))
  const rejected = (description: string) => ({
    rejected: { status: 400, error: 'invalid_request', description },
  })
  const type = rejected('Send the client metadata as application/json.')
  for (const other of ['text/json', 'application/json; charset=latin1', 'application/json; charset=utf-16'])
    t.strictSame(read(other, '{}'), type, other)
  t.strictSame(readJsonObject({}, Buffer.from('{}')), type)
  for (const body of ['', '{', '[]', 'null', '7'])
    t.strictSame(read('application/json', body), rejected('The body is not a JSON object.'), body)
  t.strictSame(read('application/json; charset=utf-8', '{"a":"é"}'), { object: { a: 'é' } })
})

t.test('readForm() rejects other content types, other charsets and repeated parameters', async (t) => {
  const rejected = (contentType: string | undefined, body: string) => {
    const read = readForm(contentType === undefined ? {} : { 'content-type': contentType }, Buffer.from(body))
    return 'rejected' in read ? read.rejected : undefined
  }
  t.match(rejected(undefined, 'a=b'), { status: 400, error: 'invalid_request' })
  t.match(rejected('application/json', '{}'), { status: 400, error: 'invalid_request' })
  t.match(rejected(`${FORM}; charset=klingon`, 'a=b'), { status: 400, error: 'invalid_request' })
  t.match(rejected(FORM, 'code=1&code=2'), {
    status: 400,
    description: /parameter code occurs more than once/,
  })
  t.match(rejected(FORM, 'a%22%0a=1&a%22%0a=2'), { description: /parameter a\?\? occurs/ })
  t.equal(rejected(FORM, 'resource=a&resource=b'), undefined, 'RFC 8707 section 2: resource may come twice')
})

t.test('readJsonObject() accepts only a JSON object', async (t) => {
  const json = { 'content-type': 'application/json' }
  for (const body of ['', '{', '[]', 'null', '7', '"text"', '\u0000'])
    t.match(readJsonObject(json, Buffer.from(body)), {
      rejected: { status: 400, error: 'invalid_request' },
    })
  t.match(readJsonObject({ 'content-type': 'text/plain' }, Buffer.from('{}')), { rejected: { status: 400 } })
  t.match(readJsonObject(json, undefined), { rejected: { status: 400 } })
  t.match(readJsonObject(json, Buffer.from('{"a":1}')), { object: { a: 1 } })
})

t.test('canonicalizeResource() removes trailing slashes and duplicates', async (t) => {
  const issuer = 'https://api.example.com'
  const resources = [issuer, `${issuer}/mcp`]
  const parameters = new URLSearchParams(`resource=${issuer}/&a=b&resource=${issuer}`)
  t.ok(canonicalizeResource(parameters, resources))
  t.same(parameters.getAll('resource'), [issuer])
  t.equal(parameters.get('a'), 'b')
  t.notOk(canonicalizeResource(new URLSearchParams(`resource=${issuer}`), resources))
  t.notOk(canonicalizeResource(new URLSearchParams('resource=https://api.example.com/a/'), resources))
  t.notOk(canonicalizeResource(new URLSearchParams('a=b'), resources))
  const mcp = new URLSearchParams(`resource=${issuer}/mcp/&resource=${issuer}/mcp//`)
  t.ok(canonicalizeResource(mcp, resources))
  t.same(mcp.getAll('resource'), [`${issuer}/mcp`, `${issuer}/mcp//`])
})
