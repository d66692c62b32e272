import t from 'tap'
import { startGatewayUnderTest } from '../fixtures/a-gateway.ts'

// Names of members of Object.prototype, and similar names.
const NAMES = [
  '__proto__',
  'constructor',
  'toString',
  'tostring',
  'hasOwnProperty',
  'valueof',
  'prototype',
  '__defineGetter__',
]

t.test('forwards upstream headers that are named like members of Object.prototype', async (t) => {
  const { raw, upstream } = await startGatewayUnderTest(t)
  for (const name of NAMES) {
    upstream.reply(
      `HTTP/1.1 200 OK\r\n${name}: one\r\n${name}: two\r\nx-after: 1\r\ncontent-length: 2\r\n\r\nok`,
    )
    const answer = await raw('GET /pub/x HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n')
    t.match(answer, /^HTTP\/1\.1 200 [\s\S]*x-after: 1[\s\S]*\r\n\r\nok$/, `${name}\n${answer}`)
  }
})
t.test('forwards client headers that are named like members of Object.prototype', async (t) => {
  const { raw, upstream } = await startGatewayUnderTest(t)
  for (const name of NAMES) {
    const before = upstream.requests.length
    const answer = await raw(
      `GET /pub/x HTTP/1.1\r\nHost: a\r\nConnection: close, ${name}x\r\n${name}: one\r\n${name}: two\r\n\r\n`,
    )
    t.match(answer, /^HTTP\/1\.1 200 /, name)
    t.equal(upstream.requests.length, before + 1)
    t.same(upstream.seen(name.toLowerCase()), ['one', 'two'])
  }
})
