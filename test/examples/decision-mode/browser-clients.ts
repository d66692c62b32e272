import { join } from 'node:path'
import t from 'tap'
import { startDecisionEndpoint } from '../../fixtures/a-decision-endpoint.ts'
import { OK_REPLY } from '../../fixtures/recording-upstream.ts'
import { documentedBlocks } from '../../fixtures/repository-texts.ts'
import { send } from '../../fixtures/send.ts'
import { EXAMPLES, type Ingress, startExample } from './ingress.ts'

/**
 * The blocks of the page with directives. The language of a block has the product and a line of the example: `in` adds
 * the block after this line, and `for` replaces this line.
 */
const DIRECTIVES = documentedBlocks('docs/decide-for-another-gateway.md').flatMap(({ info, text }) => {
  const [, product, how, line = ''] = /^(\w+) (in|for) (.*)$/.exec(info) ?? []
  return product === undefined ? [] : [{ product, how, line, lines: text.trimEnd().split('\n') }]
})

/** Adds the directives of a product to a file of its example. Appends each added line of the page to `added`. */
function addDirectives(text: string, fence: string, added: string[]): string {
  const lines = text.replace('FORWARDS_OPTIONS = false', 'FORWARDS_OPTIONS = true').split('\n')
  for (const { product, how, line, lines: block } of DIRECTIVES) {
    const at = lines.findLastIndex((one) => one.trim().replace(/ \{$/, '') === line)
    if (product !== fence || at === -1) continue
    lines.splice(at + (how === 'in' ? 1 : 0), how === 'in' ? 0 : 1, ...block)
    added.push(line)
  }
  return lines.join('\n')
}

/**
 * Tests the CORS directives of the page in the example of the product.
 * @param ingress.fence the folder of the example, and the language of its code blocks on the page.
 * @param ingress.responses the CORS headers of each response. Default: the headers of the proxy.
 */
export function testBrowserClients(
  ingress: Ingress & {
    readonly fence: string
    readonly responses?: readonly (readonly [name: string, values: readonly string[]])[]
  },
): void {
  t.test(
    `with the directives of the page, a page of a browser can use the API through ${ingress.name}`,
    async (t) => {
      const { decisions, gateway, upstream } = await startDecisionEndpoint(t, ingress.protocol)
      const added: string[] = []
      const adapt = (text: string, dir: string) => {
        const changed = addDirectives(text, ingress.fence, added)
        return ingress.adapt?.(changed, dir) ?? changed
      }
      const example = { ...ingress, folder: join(EXAMPLES, ingress.fence), adapt }
      const url = await startExample(t, example, { decisions, upstream: upstream.url })
      const own = DIRECTIVES.filter(({ product }) => product === ingress.fence).map(({ line }) => line)
      t.same(added.toSorted(), own.toSorted(), 'the example uses each block of the page')
      const before = upstream.requests.length
      const origin = 'https://app.example'
      const corsHeaders = ({ headers }: { readonly headers: Headers }) =>
        [...headers]
          .filter(([name]) => name.startsWith('access-control-') || name === 'vary')
          .map(([name, value]) => [name, value.split(/, ?/)])

      for (const [path, from, method] of [
        ['/api/courses', origin, 'GET'],
        ['/api/listed', origin, 'GET'],
        ['/api/listed', origin, 'POST'],
        ['/api/listed', 'https://other.example', 'GET'],
        ['/pub/a%20b?c=%2f', origin, 'PUT'],
        ['/nothing', origin, 'GET'],
        ['/pub/%2e%2e/api/courses', origin, 'GET'],
      ] as const) {
        const preflight = {
          method: 'OPTIONS',
          headers: {
            origin: from,
            'access-control-request-method': method,
            'access-control-request-headers': 'authorization',
            'x-original-method': 'GET',
            'x-forwarded-uri': '/pub/x',
          },
        }
        const direct = await send(`${gateway.url}${path}`, preflight)
        const reply = await send(`${url}${path}`, preflight)
        t.equal(reply.status, direct.status, `${method} ${path}`)
        t.same(corsHeaders(reply), corsHeaders(direct), `${method} ${path}`)
      }
      t.equal(upstream.requests.length, before, 'the upstream receives no preflight')

      const cors = 'access-control-allow-origin: null\r\naccess-control-allow-credentials: true\r\n'
      upstream.reply(OK_REPLY.replace('\r\n', `\r\n${cors}`))
      for (const [path, token, status] of [
        ['/api/courses', 'good', 200],
        ['/api/listed', 'good', 200],
        ['/api/listed', undefined, 401],
        ['/api/courses', 'narrow', 403],
        ['/nothing', undefined, 404],
      ] as const) {
        const direct = await send(`${gateway.url}${path}`, { token, headers: { origin } })
        const reply = await send(`${url}${path}`, { token, headers: { origin } })
        t.equal(reply.status, status, path)
        t.same(corsHeaders(reply), ingress.responses ?? corsHeaders(direct), path)
      }
      const other = { token: 'good', headers: { origin: 'https://other.example' } }
      const { headers } = await send(`${url}/api/listed`, other)
      for (const name of ['access-control-allow-origin', 'access-control-allow-credentials'])
        t.equal(headers.get(name), null, `${name} for an origin that the policy does not allow`)
    },
  )
}
