import { once } from 'node:events'
import { readdirSync } from 'node:fs'
import { request } from 'node:http'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { ENDPOINTS } from '../../oauth/endpoints.ts'
import { recordCredential } from '../fixtures/capture.ts'
import { type Browser, openBrowser, type Page } from '../fixtures/open-browser.ts'
import type { Form } from '../fixtures/parse-forms.ts'
import { registerClient } from '../fixtures/register-client.ts'
import { type Answer, send } from '../fixtures/send.ts'
import { answerPage } from '../fixtures/sign-in.ts'
import { startServer } from '../fixtures/start-authorization-server.ts'
import { STORE_ENGINES } from '../fixtures/store-engines.ts'

const ADMIN_TOKEN = 'correct-horse-battery-staple-0123456789'
recordCredential(ADMIN_TOKEN)

/** NUL, bytes that are not UTF-8, and an incomplete escape. A form with such a value is not valid. */
const INVALID = ['%00', 'a%00b', '%FF', '%C3%28', '%ED%A0%80', '%']
/** Other control characters. */
const CONTROLS = ['%01', '%0A', '%1B%5B2J', '%7F']
const VALUES = [...INVALID, ...CONTROLS]
const JSON_VALUES = ['\\u0000', 'a\\u0000b', '\\u0001', '\\n', '\\u007f', '\\ud800', 'a\\udc00']
/** The other topologies of Redis use the same statements. */
const ENGINES = STORE_ENGINES.filter(({ name }) => ['SQLite', 'Redis', 'PostgreSQL'].includes(name))

const cookieOf = ({ cookies }: Browser) =>
  [...cookies.values()].map(({ name, value }) => `${name}=${value}`).join('; ')

/** Posts a form. `fields` is encoded already. */
function post(url: string, fields: string, headers: Readonly<Record<string, string>> = {}): Promise<Answer> {
  const { origin } = new URL(url)
  return send(url, {
    body: fields,
    headers: { 'content-type': 'application/x-www-form-urlencoded', origin, ...headers },
  })
}

/** Returns the fields of a form. `value` is encoded already, and replaces the value of `field`. */
function replaceField({ fields }: Form, field: string, value: string): string {
  const others = new URLSearchParams(Object.fromEntries(fields))
  others.delete(field)
  return `${others}&${field}=${value}`
}

function stay(page: Awaited<ReturnType<Browser['visit']>>): Page {
  if (page.left) throw new Error(`the browser left to ${page.location}`)
  return page
}

function isRejection({ status }: Pick<Answer, 'status'>): boolean {
  return status >= 400 && status < 500
}

async function start(t: Test, engine: (typeof ENGINES)[number]) {
  const { config } = await engine.start(t)
  const adminTokenFile = join(t.testdir({ 'admin-token': `${ADMIN_TOKEN}\n` }), 'admin-token')
  const server = await startServer(t, {
    ...config,
    management: { host: '127.0.0.1', port: 0, adminTokenFile },
  })
  return { server, client: await registerClient(server) }
}

for (const engine of ENGINES)
  t.test(`control characters in identifiers, with ${engine.name} as the store`, async (t) => {
    const { server, client } = await start(t, engine)
    const { baseUrl, managementUrl } = server
    const person = openBrowser(baseUrl)
    await client.obtainTokens({ browser: person, scope: 'openid courses:read' })

    t.test('the pages for people reject them', async (t) => {
      const cookie = cookieOf(person)
      for (const value of VALUES) {
        for (const path of [
          `${ENDPOINTS.interaction}/${value}`,
          `${ENDPOINTS.authorization}/${value}`,
          `${ENDPOINTS.authorization}?client_id=${value}`,
          `${ENDPOINTS.authorization}?client_id=${client.clientId}&request_uri=urn:ietf:params:oauth:request_uri:${value}`,
          `${ENDPOINTS.setPassword}?token=${value}`,
          `${ENDPOINTS.endSession}?id_token_hint=${value}`,
        ])
          t.ok(isRejection(await send(baseUrl + path, { headers: { cookie } })), `GET ${path}`)
        for (const [path, fields] of [
          [`${ENDPOINTS.interaction}/${value}/sign-in`, 'username=alice&password=alice'],
          [`${ENDPOINTS.interaction}/${value}/consent`, 'decision=allow'],
          [ENDPOINTS.endSession, `id_token_hint=${value}`],
          [ENDPOINTS.setPassword, `token=${value}&password=${'x'.repeat(20)}`],
        ] as const)
          t.ok(isRejection(await post(baseUrl + path, fields, { cookie })), `POST ${path} ${fields}`)
      }
    })

    t.test('the account page and the consent page reject invalid forms', async (t) => {
      const account = stay(await person.visit(baseUrl + ENDPOINTS.account))
      const remove = account.forms.find(({ action }) => action.endsWith('/remove'))
      const asked = openBrowser(baseUrl)
      const signIn = stay(await asked.visit(client.authorizeUrl('openid courses:read', 'a'.repeat(43))))
      const consent = stay(await answerPage(asked, signIn)).forms.find(({ action }) =>
        action.endsWith('/consent'),
      )
      if (remove === undefined || consent === undefined) throw new Error('a page has no form')
      t.ok(consent.fields.some(([name]) => name === 'form_token'))
      for (const value of VALUES) {
        const removed = await post(remove.action, replaceField(remove, 'client', value), {
          cookie: cookieOf(person),
        })
        // An unknown client has no grants, so the request succeeds.
        t.equal(removed.status, INVALID.includes(value) ? 400 : 303, `remove client=${value}`)
        const allowed = await post(consent.action, replaceField(consent, 'form_token', value), {
          cookie: cookieOf(asked),
        })
        t.ok(isRejection(allowed), `consent form_token=${value}`)
      }
    })

    t.test('the endpoints for clients reject them', async (t) => {
      const id = `client_id=${client.clientId}`
      const gateway = `client_id=gateway&client_secret=${encodeURIComponent(server.gatewaySecret)}`
      for (const value of VALUES) {
        for (const [path, fields] of [
          [ENDPOINTS.token, `${id}&grant_type=refresh_token&refresh_token=${value}`],
          [
            ENDPOINTS.token,
            `${id}&grant_type=authorization_code&code=${value}&redirect_uri=x&code_verifier=y`,
          ],
          [ENDPOINTS.token, `client_id=${value}&grant_type=refresh_token&refresh_token=x`],
          [ENDPOINTS.revocation, `token=x&client_id=${value}`],
          [ENDPOINTS.introspection, `token=x&client_id=${value}`],
          [ENDPOINTS.pushedAuthorizationRequest, `response_type=code&client_id=${value}`],
        ] as const)
          t.ok(isRejection(await post(baseUrl + path, fields)), `${path} ${fields}`)
        // RFC 7009 section 2.2 and RFC 7662 section 2.2: an unknown token is not an error.
        const revoked = await post(baseUrl + ENDPOINTS.revocation, `${id}&token=${value}`)
        t.ok(revoked.status === 200 || isRejection(revoked), `revocation of ${value}`)
        const introspected = await post(baseUrl + ENDPOINTS.introspection, `${gateway}&token=${value}`)
        t.ok(introspected.json['active'] === false || isRejection(introspected), `introspection of ${value}`)
      }
    })

    t.test('the console rejects them', async (t) => {
      const signedIn = await post(
        `${managementUrl}/console/sign-in`,
        `token=${ADMIN_TOKEN}&next=/console/grants`,
      )
      const cookie = (signedIn.headers.get('set-cookie') ?? '').split(';')[0] ?? ''
      const load = (path: string) => send(`${managementUrl}/console/${path}`, { headers: { cookie } })
      const [, formToken] =
        /name="form_token" value="([^"]+)"/.exec((await load('revoke?client=x')).text) ?? []
      for (const value of VALUES) {
        for (const path of ['revoke?grant=', 'revoke?account=', 'client?client='])
          t.equal((await load(path + value)).status, 404, path + value)
        for (const path of ['grants?account=', 'grants?client=', 'grants?after=', 'clients?after='])
          t.equal((await load(path + value)).status, 200, `${path}${value} selects nothing`)
        for (const field of ['grant', 'account', 'client']) {
          const revoked = await post(
            `${managementUrl}/console/revoke`,
            `form_token=${formToken}&${field}=${value}`,
            { cookie },
          )
          // The next page shows the result of the command.
          t.equal(revoked.status, INVALID.includes(value) ? 400 : 303, `revoke ${field}=${value}`)
        }
      }
      t.match((await load('grants')).text, /role="status">\S/)
    })

    t.test('the commands of the operator reject them', async (t) => {
      const folder = join(server.dataDir, 'admin')
      const socketPath = join(folder, readdirSync(folder)[0] ?? '')
      const command = async (path: string, body: string): Promise<number | undefined> => {
        const headers = { 'content-type': 'application/json' }
        const sent = request({ socketPath, path, method: 'POST', headers }).end(body)
        const [response] = await once(sent, 'response')
        return response.resume().statusCode
      }
      for (const value of JSON_VALUES) {
        for (const [path, field] of [
          ['/grant/revoke', 'grant'],
          ['/grant/revoke', 'account'],
          ['/grant/list', 'account'],
          ['/session/end', 'session'],
          ['/session/end', 'account'],
          ['/session/list', 'account'],
          ['/client/show', 'client'],
          ['/client/remove', 'client'],
          ['/account/show', 'account'],
          ['/account/disable', 'account'],
          ['/account/remove', 'account'],
        ] as const)
          t.equal(await command(path, `{"${field}":"${value}"}`), 404, `${path} ${field}=${value}`)
        t.equal(await command('/account/invite', `{"account":"${value}"}`), 400)
        for (const field of ['name', 'email'])
          t.equal(
            await command('/account/invite', `{"account":"carol","${field}":"${value}"}`),
            400,
            `/account/invite ${field}=${value}`,
          )
        t.equal(
          await command('/grant/revoke', `{"client":"${value}"}`),
          200,
          'an unknown client has no grants',
        )
      }
    })
  })
