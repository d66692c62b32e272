import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import t from 'tap'
import { CheckReply } from '../../../gateway/ext-authz/check-exchange.ts'
import type { RequestContext } from '../../../gateway/pipeline/request-context.ts'
import { createResponder } from '../../../gateway/pipeline/responder.ts'

/** No response can have this request ID, because Node.js rejects line breaks in headers. */
const UNSENDABLE = {
  requestId: 'a\nb',
  clientAddress: '127.0.0.1',
  resource: {},
  credential: 'bearer',
  policyHeaders: [],
  rateHeaders: [],
  nonceHeaders: [],
} as unknown as RequestContext

function aResponder() {
  const reported: string[] = []
  const responder = createResponder({
    draining: () => false,
    decisionProtocol: undefined,
    onBroken: () => undefined,
    report: (_event, _requestId, _clientAddress, error) => {
      reported.push(String(error))
    },
  })
  return { responder, reported }
}

t.test(
  'a failure of the 500 response is logged, and ends the connection instead of the process',
  async (t) => {
    const { responder, reported } = aResponder()
    const server = createServer((request, response) => {
      responder.fail500({ ...UNSENDABLE, request, response }, new Error('the first failure'))
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    t.teardown(() => server.close())
    const { port } = server.address() as AddressInfo
    await t.rejects(fetch(`http://127.0.0.1:${port}/`), 'the client gets no response')
    t.match(reported, [/the first failure/, /Invalid character in header/])
  },
)

t.test('a failure of the 500 response ends a check of Envoy', async (t) => {
  const { responder, reported } = aResponder()
  const ends: string[] = []
  const reply = new CheckReply(
    () => {
      throw new Error('the reply cannot be encoded')
    },
    () => ends.push('destroyed'),
  )
  const request = { httpVersion: '1.1', complete: true, headers: {}, socket: {} }
  responder.fail500(
    { ...UNSENDABLE, request, response: reply.asResponse() } as unknown as RequestContext,
    new Error('the first failure'),
  )
  t.same(ends, ['destroyed'])
  t.match(reported, [/the first failure/, /the reply cannot be encoded/])
})
