import t from 'tap'
import { ENDPOINTS } from '../../oauth/endpoints.ts'
import { parseForms } from '../fixtures/parse-forms.ts'
import { makePkce } from '../fixtures/register-client.ts'
import { send } from '../fixtures/send.ts'
import { startServer } from '../fixtures/start-authorization-server.ts'

// The server listens with HTTP, but its issuer is an https URL, because a proxy terminates TLS.
const issuer = 'https://login.example.com'

t.test(
  'with an https issuer, every cookie is Secure and has the prefix __Host- (session) or __Secure- (others)',
  async (t) => {
    const server = await startServer(t, { issuer })
    const local = `http://127.0.0.1:${server.port}`
    const jar = new Map<string, { value: string; attributes: string }>()
    const visit = async (path: string, form?: Record<string, string>) => {
      const cookie = [...jar].map(([name, { value }]) => `${name}=${value}`).join('; ')
      const headers = { accept: 'text/html', cookie, ...(form === undefined ? {} : { origin: issuer }) }
      const answer = await send(`${local}${path}`, form === undefined ? { headers } : { headers, form })
      for (const line of answer.headers.getSetCookie()) {
        const [pair = '', ...rest] = line.split('; ')
        const [name = '', value = ''] = pair.split(/=(.*)/s)
        jar.set(name, { value, attributes: rest.join('; ').toLowerCase() })
      }
      return answer
    }

    const registered = await send(`${local}${ENDPOINTS.registration}`, {
      json: { redirect_uris: ['http://127.0.0.1:49152/callback'] },
    })
    const query = new URLSearchParams({
      response_type: 'code',
      client_id: String(registered.json['client_id']),
      redirect_uri: 'http://127.0.0.1:49152/callback',
      scope: 'openid',
      state: 'a-state',
      code_challenge: makePkce().challenge,
      code_challenge_method: 'S256',
    })
    const started = await visit(`${ENDPOINTS.authorization}?${query}`)
    t.equal(started.status, 303)
    const path = started.headers.get('location') ?? ''
    const page = await visit(path)
    t.equal(page.status, 200)
    const form = parseForms(page.text, `${issuer}${path}`).find((each) => each.action.endsWith('/sign-in'))
    const signedIn = await visit(new URL(form?.action ?? '').pathname, {
      ...Object.fromEntries(form?.fields ?? []),
      username: 'alice',
      password: 'alice',
    })
    t.equal(signedIn.status, 303, signedIn.text)
    const resume = new URL(signedIn.headers.get('location') ?? '')
    t.equal(resume.origin, issuer)
    await visit(resume.pathname)

    const names = [...jar.keys()]
    t.ok(names.includes('__Host-scopegate_session'), names.join(' '))
    for (const [name, { attributes }] of jar) {
      t.match(attributes, /secure/, name)
      t.match(attributes, /httponly/, name)
      t.match(attributes, /samesite=(lax|strict)/, name)
      t.notMatch(attributes, /domain=/, name)
      t.match(
        name,
        attributes.includes('path=/;') || attributes.endsWith('path=/') ? /^__Host-/ : /^__Secure-/,
      )
    }
  },
)
