import t from 'tap'
import { fetchLivePolicies } from '../../../cli/live-policies.ts'
import { GATEWAY_ERRORS } from '../../../gateway/pages/error-guide.ts'
import { ERROR_GUIDES, errorGuides } from '../../../gateway/pages/error-guides.ts'
import { errorCodeOf, errorPage } from '../../../gateway/pages/error-pages.ts'
import { llmsTxt } from '../../../gateway/pages/llms-txt.ts'
import { prefersHtml } from '../../../gateway/pages/prefers-html.ts'
import { renderMarkdown } from '../../../gateway/pages/render-markdown.ts'
import { simulate } from '../../../gateway/simulate/simulate.ts'
import type { ErrorBody } from '../../../oauth/error-body.ts'
import { findFreePages, isPagePath } from '../../../policy-engine/match/free-pages.ts'
import { stableNames } from '../../../scripts/stable-names.ts'
import { startDecisionEndpoint } from '../../fixtures/a-decision-endpoint.ts'
import { BASE_URL, POLICY, startGatewayUnderTest } from '../../fixtures/a-gateway.ts'
import { interfaceErrors } from '../../fixtures/interface-errors.ts'
import { readRepositoryFile } from '../../fixtures/repository-texts.ts'
import { send } from '../../fixtures/send.ts'

const BROWSER = { accept: 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8' }
const PAGES = ['/docs', '/docs/signed-in', '/docs/errors', '/docs/errors/invalid_token']
/** Paths that the gateway redirects to a page: the path of the page with a trailing slash. */
const REDIRECTED = ['/docs/', '/docs/errors/', '/docs/errors/invalid_token/']
/** Text that runs a script if a page contains it as markup. */
const HOSTILE = '</title></script><script>attacked()</script><img src=x onerror=attacked()>"\'&`'

t.test('the error pages explain exactly the statuses and codes of docs/rejections.md', async (t) => {
  const rows = readRepositoryFile('docs/rejections.md').matchAll(/^\| `\w+` \| (\d{3}) \| `(\w+)` \|/gm)
  const documented = new Set([...rows].map(([, status, code]) => `${code} ${status}`))
  const explained = Object.entries(GATEWAY_ERRORS).flatMap(([code, { statuses }]) =>
    statuses.map((status) => `${code} ${status}`),
  )
  t.same(explained.toSorted(), [...documented].toSorted())
})

t.test('the error pages explain exactly the error codes in the code of both services', async (t) => {
  const names = stableNames()
  const inCode = (kind: string) => new Set(names[`Error codes of ${kind}`])
  const explained = (...senders: readonly string[]) =>
    ERROR_GUIDES.filter(({ sender }) => senders.includes(sender)).flatMap(({ codes }) => [...codes.keys()])
  // The engine of the authorization server has codes that no file of the repository contains.
  const ofEngine = new Set(interfaceErrors().map(([code]) => code))
  for (const [codes, expected] of [
    [explained('Gateway'), inCode('the gateway')],
    [explained('Authorization server', 'Sign-in pages'), inCode('the authorization server').union(ofEngine)],
    [explained('Administration socket'), inCode('the administration socket')],
    [explained('Security events', 'Management port'), inCode('security events and of the management port')],
  ] as const)
    t.same([...new Set(codes)].toSorted(), [...expected].toSorted())
  for (const { codes } of ERROR_GUIDES)
    for (const [code, { causes, client, operator, statuses }] of codes)
      for (const part of [causes, client, operator, statuses]) t.ok(part.length > 0, code)
})

t.test('the error pages have the statuses of docs/interface.md for the authorization server', async (t) => {
  const rows = interfaceErrors()
  const server = ERROR_GUIDES.find(({ sender }) => sender === 'Authorization server')
  for (const [code, { statuses }] of server?.codes ?? []) {
    const listed = rows.filter(([name]) => name === code).map(([, text]) => text)
    const documented = new Set(listed.flatMap((text) => text.match(/\d{3}|redirect/g) ?? []))
    for (const status of statuses) t.ok(documented.delete(String(status)), `${code} ${status}`)
    // A row with several codes has one status for each of them.
    if (listed.every((text) => !text.includes(', ') || code === 'invalid_request'))
      t.same([...documented], [], code)
  }
})

t.test('without the bundled authorization server, the error pages omit its codes', async (t) => {
  const bundled = { apiName: 'API', bundledAuthorizationServer: true }
  const external = { apiName: 'API', bundledAuthorizationServer: false }
  for (const { codes } of errorGuides(bundled))
    for (const code of codes.keys()) {
      t.equal(errorCodeOf(code, bundled), code)
      t.equal(errorPage(code, bundled).status, undefined, code)
    }
  t.equal(errorPage('wrong_step', external).status, 404)
  t.equal(errorCodeOf('wrong_step', external), '')
  t.equal(errorCodeOf('misdirected_request', external), 'misdirected_request')
})

t.test('prefersHtml() returns true only for a client that prefers HTML', async (t) => {
  for (const [accept, json, markdown] of [
    [undefined, false, false],
    ['*/*', false, false],
    ['application/json, text/plain, */*', false, false],
    [BROWSER.accept, true, true],
    ['text/html', true, true],
    ['text/markdown, text/html, */*', true, false],
    ['text/html;q=0.5, text/markdown;q=0.9', true, false],
    ['text/html, application/json;q=0.9', true, true],
    ['application/json, text/html;q=0.9', false, true],
    ['text/html;q=0', false, false],
    ['text/html;q=0, */*', false, false],
    ['TEXT/HTML', true, true],
    ['text/htmlx', false, false],
  ] as const) {
    t.equal(prefersHtml(accept, 'application/json'), json, `${accept} and JSON`)
    t.equal(prefersHtml(accept, 'text/markdown'), markdown, `${accept} and Markdown`)
  }
})

t.test('/ and /auth.md have one representation for browsers and one for programs', async (t) => {
  const { gateway } = await startGatewayUnderTest(t)
  const tags = new Set<string | null>()
  for (const [path, type] of [
    ['/', 'application/json'],
    ['/auth.md', 'text/markdown; charset=utf-8'],
  ] as const)
    for (const [headers, expected] of [
      [{}, type],
      [BROWSER, 'text/html; charset=utf-8'],
    ] as const) {
      const response = await fetch(gateway.url + path, { headers })
      t.equal(response.headers.get('content-type'), expected)
      t.match(response.headers.get('vary'), /^accept(?:,|$)/, 'a cache separates the representations')
      tags.add(response.headers.get('etag'))
    }
  t.match(await (await fetch(`${gateway.url}/auth.md`)).text(), `${BASE_URL}/docs/errors explains each code.`)
  t.match(await (await fetch(`${gateway.url}/docs/errors`)).text(), '<code>invalid_<wbr>request</code>')
  t.equal(tags.size, 4, 'an entity tag of one representation does not match another')
})

t.test('every page has a strict content security policy, and no other page can frame it', async (t) => {
  const { gateway } = await startGatewayUnderTest(t)
  for (const path of ['/', '/auth.md', '/docs/errors/unknown', ...PAGES]) {
    const response = await fetch(gateway.url + path, { headers: BROWSER })
    t.equal(response.status, path.endsWith('unknown') ? 404 : 200, path)
    const policy = String(response.headers.get('content-security-policy'))
    t.match(policy, /^default-src 'none'; style-src 'sha256-[^']+'/, path)
    t.match(policy, "frame-ancestors 'none'; base-uri 'none'; form-action 'none'", path)
    t.notMatch(policy, /unsafe|\*|data:|script-src (?!'sha256-)/, path)
    t.equal(response.headers.get('referrer-policy'), 'no-referrer')
    const isStored = path !== '/docs/signed-in' // the URL of this page contains the code
    t.equal(response.headers.get('cache-control'), isStored ? 'public, max-age=300' : 'no-store', path)
    t.equal(response.headers.get('set-cookie'), null)
    const text = await response.text()
    t.notMatch(text, /(?:src|href)="(?:https?:)?\/\/(?!api\.test)/, 'no file of another origin')
  }
})

t.test('/ shows an example of a request, also if each route is a template', async (t) => {
  for (const [path, shown] of [
    ['/api/plain', 'GET /api/plain\n'],
    ['/api/items/{id}', 'GET /…\n'],
  ] as const) {
    const policy = POLICY.replace(
      /routes:[\s\S]*/,
      `routes: [{ name: one, match: { methods: [GET], path: "${path}" } }]`,
    )
    const { gateway } = await startGatewayUnderTest(t, { policy })
    t.match(await (await fetch(gateway.url, { headers: BROWSER })).text(), shown)
  }
})

t.test('/docs connects only to its own origin and to the first issuer of each resource', async (t) => {
  const startWith = (clientId: string | undefined) =>
    startGatewayUnderTest(t, {
      change: (config) => ({
        ...config,
        authorizationServer: undefined,
        issuers: config.issuers.map((one) => ({ ...one, issuer: 'https://login.example/tenant' })),
        docs: { enabled: true, clientId },
      }),
    })
  const { gateway: withoutClient } = await startWith(undefined)
  const plain = await fetch(`${withoutClient.url}/docs`)
  t.match(plain.headers.get('content-security-policy'), "connect-src 'self';", 'no sign-in')
  const { gateway } = await startWith('reference')
  const response = await fetch(`${gateway.url}/docs`)
  t.match(response.headers.get('content-security-policy'), "connect-src 'self' https://login.example;")
  const settings = /data-settings="([^"]+)"/.exec(await response.text())?.[1]?.replaceAll('&#34;', '"') ?? ''
  t.match(JSON.parse(settings), {
    baseUrl: BASE_URL,
    clientId: 'reference',
    registers: false,
    resources: [
      {
        identifier: BASE_URL,
        issuer: 'https://login.example/tenant',
        metadataUrls: [
          'https://login.example/.well-known/oauth-authorization-server/tenant',
          'https://login.example/tenant/.well-known/openid-configuration',
        ],
      },
    ],
  })
})

t.test('the pages escape the name of the API, scopes, and the descriptions of an upstream', async (t) => {
  const { gateway } = await startGatewayUnderTest(t, {
    change: (config) => ({
      ...config,
      name: HOSTILE,
      catalogue: new Map([
        ...config.catalogue,
        ['a<b', { name: 'a<b', description: HOSTILE, group: HOSTILE, sensitivity: 'read' as const }],
      ]),
    }),
  })
  for (const path of ['/', '/auth.md', '/docs/errors/unknown', ...PAGES]) {
    const text = await (await fetch(gateway.url + path, { headers: BROWSER })).text()
    t.notMatch(text, /<script>attacked|<img|<b\b/, path)
    t.equal(text.split('</title>').length, 2, `${path}: the name does not end the title`)
  }
})

t.test('renderMarkdown() escapes markup and links only to http and https', async (t) => {
  const text = String(
    renderMarkdown(
      `# ${HOSTILE}\n\n[x](javascript:attacked()) javascript:attacked() https://a.test/<b>\n\n| ${HOSTILE} |\n| --- |\n| \`${HOSTILE.replace('`', '')}\` |\n\n- ${HOSTILE}\n\n\`\`\`sh\n${HOSTILE}\n\`\`\`\n`,
    ),
  )
  t.notMatch(text, /<script|<img|<b>|href="javascript/)
  t.match(text, '<a href="https://a.test/">https://a.test/</a>')
})

t.test(
  'paths below /docs/errors lead to no other file, and an unknown code is not in the page',
  async (t) => {
    const { gateway, raw } = await startGatewayUnderTest(t)
    const unknown = await fetch(`${gateway.url}/docs/errors/%3Cscript%3E`, {
      headers: { 'if-none-match': '*' },
    })
    t.equal(unknown.status, 404)
    t.equal(unknown.headers.get('content-type'), 'text/html; charset=utf-8')
    t.notMatch(await unknown.text(), /&#60;script|%3Cscript/i)
    for (const path of ['__proto__', 'constructor', 'toString', '%5F%5Fproto%5F%5F'])
      t.equal((await fetch(`${gateway.url}/docs/errors/${path}`)).status, 404, path)
    for (const path of ['..%2f..%2fauth.md', '%2e%2e/errors', '..%5cx', 'a/b']) {
      const response = await raw(
        `GET /docs/errors/${path} HTTP/1.1\r\nHost: api.test\r\nConnection: close\r\n\r\n`,
      )
      t.match(response, /^HTTP\/1\.1 40[04] /, path)
      t.notMatch(response, '<html', path)
    }
    t.equal(
      errorPage('invalid_token', { apiName: 'API', bundledAuthorizationServer: true }).status,
      undefined,
    )
    t.equal((await fetch(`${gateway.url}/docs`, { method: 'POST' })).status, 405)
  },
)

t.test('findFreePages() leaves a page to the gateway only if no template matches it', async (t) => {
  const all = { reference: true, llms: true }
  for (const [template, expected] of [
    ['/api/courses', all],
    ['/docs/guide', all],
    ['/docsx', all],
    ['/{tenant}/orders/{id}', all],
    ['/docs', { reference: false, llms: true }],
    ['/docs/**', { reference: false, llms: true }],
    ['/docs/{page}', { reference: false, llms: true }],
    ['/docs/', { reference: false, llms: true }],
    ['/docs/{page}/', { reference: false, llms: true }],
    ['/docs/errors/{id}/', { reference: false, llms: true }],
    ['/docs/errors/{id}', { reference: false, llms: true }],
    ['/{a}/errors', { reference: false, llms: true }],
    ['/llms.txt', { reference: true, llms: false }],
    ['/{file}', { reference: false, llms: false }],
    ['/**', { reference: false, llms: false }],
  ] as const)
    t.same(findFreePages([template]), expected, template)
  t.same(findFreePages([]), all)
})

t.test('isPagePath() matches the paths of the pages', async (t) => {
  for (const path of [...PAGES, ...REDIRECTED, '/llms.txt']) t.ok(isPagePath(path), path)
  for (const path of ['/docs/x', '/docs/signed-in/', '/docs/errors/a/b', '/docs/errors//', '/llms.txt/', '/'])
    t.notOk(isPagePath(path), path)
})

t.test('the gateway redirects the paths of pages with a trailing slash to the pages', async (t) => {
  const { gateway } = await startGatewayUnderTest(t)
  for (const path of REDIRECTED)
    for (const [method, message] of [
      ['GET', { headers: BROWSER }],
      ['GET', { headers: { 'if-none-match': '*' } }],
      ['HEAD', { method: 'HEAD' }],
    ] as const) {
      const { status, headers } = await send(`${gateway.url}${path}?next=//attacker.test`, message)
      t.equal(status, 308, `${method} ${path}`)
      t.equal(headers.get('location'), path.slice(0, -1))
      t.equal(headers.get('cache-control'), 'public, max-age=300', 'a new policy can have this path')
    }
  for (const path of [
    '/docs/signed-in/',
    '/docs/errors/unknown/',
    '/docs/errors/%0d%0alocation:%20x/',
    '/docs/errors/invalid_token//',
    '/docs//',
    '/llms.txt/',
    '/auth.md/',
  ])
    t.match((await send(gateway.url + path)).status, /^40[04]$/, path)
})

t.test('a route of a policy replaces a redirect to a page', async (t) => {
  for (const path of ['/docs/', '/{tenant}/', '/docs/errors/', '/docs/errors/x/']) {
    const route = `  - { name: own, match: { methods: [GET], path: "${path}" } }\n`
    const { gateway, upstream } = await startGatewayUnderTest(t, { policy: POLICY + route })
    const target = path.replace('{tenant}', 'docs')
    t.equal((await send(gateway.url + target)).status, 200, path)
    t.equal(upstream.requests.at(-1)?.target, target)
    t.equal((await send(`${gateway.url}/docs`)).status, 404, 'the policy replaces the whole reference')
  }
})

t.test('the simulation and the gateway agree on pages that a policy replaces only partly', async (t) => {
  for (const path of ['/docs/errors/{code}', '/docs', '/llms.txt']) {
    const route = `  - { name: own, match: { methods: [POST], path: "${path}", headers: { x-own: "1" } }, anonymous: allow }\n`
    const { gateway } = await startGatewayUnderTest(t, { policy: POLICY + route })
    const live = await fetchLivePolicies(gateway.managementUrl ?? '')
    for (const target of [...PAGES, ...REDIRECTED, '/llms.txt']) {
      const { status } = await send(gateway.url + target, { headers: BROWSER })
      const request = { method: 'GET', target, headers: [], claims: undefined, isCompleted: true }
      const { decision } = simulate(request, live, 0)
      const expected = status < 400 ? 'gateway' : undefined
      t.equal(decision.as, expected, `${target} beside ${path}: ${status}`)
      const console = `${gateway.managementUrl}/console/explain?method=GET&path=${target}&format=json`
      const { result } = (await (await fetch(console)).json()) as { result: { explanation: { as: string } } }
      t.equal(result.explanation.as, expected ?? null, `the console, ${target} beside ${path}`)
    }
  }
})

t.test('a route of a policy replaces the pages, and no page links to them', async (t) => {
  const route = '  - { name: own-docs, match: { methods: [GET], path: "/docs/**" } }\n'
  const { gateway, upstream } = await startGatewayUnderTest(t, { policy: POLICY + route })
  const before = upstream.requests.length
  for (const path of PAGES) await fetch(gateway.url + path, { headers: BROWSER })
  t.equal(upstream.requests.length - before, PAGES.length, 'the upstream gets the requests')
  for (const path of ['/', '/auth.md', '/llms.txt']) {
    const response = await fetch(gateway.url + path, { headers: BROWSER })
    t.equal(response.status, 200)
    t.notMatch(await response.text(), /\/docs/, path)
  }
})

t.test('with docs.enabled: false, the pages do not exist, and the other documents stay', async (t) => {
  const { gateway } = await startGatewayUnderTest(t, {
    change: (config) => ({ ...config, docs: { enabled: false, clientId: undefined } }),
  })
  for (const path of [...PAGES, ...REDIRECTED, '/llms.txt']) {
    const response = await fetch(gateway.url + path, { headers: BROWSER })
    t.equal(response.status, 404, path)
    t.equal(((await response.json()) as ErrorBody).error, 'not_found')
  }
  const walkthrough = await fetch(`${gateway.url}/auth.md`, { headers: BROWSER })
  t.equal(walkthrough.headers.get('content-type'), 'text/markdown; charset=utf-8')
  t.notMatch(await (await fetch(gateway.url, { headers: BROWSER })).text(), /\/docs|llms\.txt/)
})

t.test('/llms.txt links to the documents and to every error page of the gateway', async (t) => {
  const { gateway } = await startGatewayUnderTest(t)
  const response = await fetch(`${gateway.url}/llms.txt`)
  t.equal(response.headers.get('content-type'), 'text/plain; charset=utf-8')
  const text = await response.text()
  t.match(text, /^# Test API\n\n> .+ A person gives consent in a browser\.\n\n## Access\n\n- \[/)
  t.notMatch(text, /\): [\d, ]*[A-Z]/, 'the text of a link begins with a small letter')
  const links = [...text.matchAll(/^- \[[^\]]+\]\(http:\/\/api\.test(\/[^)]+)\): \S/gm)].map(
    ([, path]) => path ?? '',
  )
  t.ok(links.length >= Object.keys(GATEWAY_ERRORS).length + 5)
  for (const path of links.filter((path) => path !== '/.well-known/oauth-authorization-server'))
    t.equal((await fetch(gateway.url + path)).status, 200, path)
})

t.test('/llms.txt does not describe the consent at another issuer', (t) => {
  const options = { apiName: 'Test API', baseUrl: 'http://api.test', hasReference: true }
  t.notMatch(llmsTxt({ ...options, bundledAuthorizationServer: false }), 'consent')
  t.end()
})

t.test(
  'the decision endpoint returns a page only for a forwarded request, never as a decision',
  async (t) => {
    const { decisions, gateway } = await startDecisionEndpoint(t, 'auth-request')
    for (const path of [...PAGES, '/llms.txt']) {
      const served = await fetch(decisions + path)
      t.equal(served.status, 200, path)
      t.equal(await served.text(), await (await fetch(gateway.url + path)).text(), path)
      const decision = await fetch(decisions, {
        headers: { 'x-original-method': 'GET', 'x-original-uri': path, 'x-forwarded-for': '192.0.2.7' },
      })
      t.ok(decision.status >= 400, `${path} is not allowed`)
    }
  },
)
