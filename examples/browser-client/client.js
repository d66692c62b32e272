// A single-page application. It is a public client with PKCE (RFC 7636), and keeps its tokens only in memory: a reload of
// the page ends the access, and other scripts of the origin find no token in storage.
const API = document.documentElement.dataset.api
const REDIRECT_URI = `${location.origin}/`
/** The page refreshes a token that expires within this time. Milliseconds. */
const REFRESH_BEFORE_MS = 30_000

const find = (id) => document.getElementById(id)
let tokens

find('sign-in').onclick = () => show(() => signIn('openid courses:read'))
find('list').onclick = () => show(listCourses)
find('create').onclick = () => show(createCourse)
await show(finishSignIn)

/** Runs an action of the user, and shows each failure. Without this function, a failed promise would be silent. */
async function show(action) {
  for (const id of ['status', 'problem']) find(id).textContent = ''
  find('more').hidden = true
  try {
    find('status').textContent = (await action()) ?? ''
  } catch (error) {
    find('problem').textContent = error.message
    if (error.scope !== undefined) offerAccess(error.scope)
  }
  find('access').textContent = tokens?.scope ?? 'none'
}

async function listCourses() {
  const { items } = await callApi('GET', '/api/courses')
  find('courses').replaceChildren(
    ...items.map(({ title }) => Object.assign(document.createElement('li'), { textContent: title })),
  )
  return `${items.length} courses`
}

async function createCourse() {
  const course = {
    title: 'From the browser',
    slug: `browser-${Date.now()}`,
    summary: 'A test',
    level: 'beginner',
  }
  const { title } = await callApi('POST', '/api/courses', { ...course, price_cents: 0, state: 'draft' })
  return `Created: ${title}`
}

async function callApi(method, path, body) {
  const send = () =>
    request(`${API}${path}`, {
      method,
      headers: {
        ...(tokens === undefined ? {} : { authorization: `Bearer ${tokens.access}` }),
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
  if (tokens !== undefined && Date.now() > tokens.expiresAtMs - REFRESH_BEFORE_MS) await refresh()
  try {
    return await send()
  } catch (error) {
    if (error.status !== 401 || tokens === undefined) throw error
    await refresh() // the gateway does not accept the token any more
    return send()
  }
}

/** Offers the step that a 401 or 403 response requires. The user decides, because the step leaves the page. */
function offerAccess(scope) {
  const wanted = [...new Set(`${tokens?.scope ?? 'openid'} ${scope}`.trim().split(' '))].join(' ')
  find('more').textContent = `Allow: ${scope}`
  find('more').onclick = () => show(() => signIn(wanted))
  find('more').hidden = false
}

/** Sends the user to the authorization server. Only the data that the response requires is stored, until the response. */
async function signIn(scope) {
  const { resource, authorization_servers } = await request(`${API}/.well-known/oauth-protected-resource`)
  const [issuer] = authorization_servers
  const server = await request(`${issuer}/.well-known/oauth-authorization-server`)
  const { client_id } = await request(server.registration_endpoint, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({
      client_name: 'Browser example',
      redirect_uris: [REDIRECT_URI],
      token_endpoint_auth_method: 'none',
    }),
  })
  const [verifier, state] = [randomText(), randomText()]
  const pending = { state, verifier, issuer, resource, client_id, token_endpoint: server.token_endpoint }
  sessionStorage.setItem('pending', JSON.stringify(pending))
  const hash = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(verifier))
  location.assign(
    `${server.authorization_endpoint}?${new URLSearchParams({
      response_type: 'code',
      client_id,
      redirect_uri: REDIRECT_URI,
      scope,
      state,
      code_challenge: base64url(hash),
      code_challenge_method: 'S256',
    })}`,
  )
}

/** Exchanges the code in the address of the page, and removes the code from the address. */
async function finishSignIn() {
  const response = new URLSearchParams(location.search)
  if (!response.has('state')) return undefined
  history.replaceState(null, '', location.pathname)
  const pending = JSON.parse(sessionStorage.getItem('pending') ?? '{}')
  sessionStorage.removeItem('pending')
  // RFC 9207: the response must come from the expected server.
  if (response.get('state') !== pending.state || response.get('iss') !== pending.issuer)
    throw new Error('The response belongs to another request. Sign in again.')
  if (!response.has('code')) throw new Error(`No access: ${response.get('error_description')}`)
  await requestTokens(pending, {
    grant_type: 'authorization_code',
    code: response.get('code'),
    redirect_uri: REDIRECT_URI,
    code_verifier: pending.verifier,
    resource: pending.resource,
  })
  return 'Signed in'
}

async function refresh() {
  try {
    await requestTokens(tokens.client, { grant_type: 'refresh_token', refresh_token: tokens.refresh })
  } catch (error) {
    const { scope } = tokens
    tokens = undefined
    throw Object.assign(new Error(`The access ended: ${error.message}`), { scope })
  }
}

async function requestTokens(client, parameters) {
  const body = new URLSearchParams({ ...parameters, client_id: client.client_id })
  const issued = await request(client.token_endpoint, { method: 'POST', body })
  tokens = {
    client,
    access: issued.access_token,
    refresh: issued.refresh_token,
    scope: issued.scope,
    expiresAtMs: Date.now() + issued.expires_in * 1_000,
  }
}

/** @throws {Error} without a response, or for an error response. `scope` contains the scopes that the response requires. */
async function request(url, init) {
  const response = await fetch(url, init).catch(() => {
    // The browser does not tell a page whether the network or CORS caused the failure.
    throw new Error(`No response from ${new URL(url).origin}. See the console of the browser.`)
  })
  if (response.ok) return response.json()
  const { error = '', error_description = '', scope } = await response.json().catch(() => ({}))
  const challenge = response.headers.get('www-authenticate') ?? ''
  const required = scope ?? (response.status === 401 ? /\bscope="([^"]*)"/.exec(challenge)?.[1] : undefined)
  const message = `${response.status} ${error}: ${error_description}`
  throw Object.assign(new Error(message), { status: response.status, scope: required })
}

function randomText() {
  return base64url(crypto.getRandomValues(new Uint8Array(32)))
}

function base64url(bytes) {
  return btoa(String.fromCharCode(...new Uint8Array(bytes)))
    .replaceAll('+', '-')
    .replaceAll('/', '_')
    .replaceAll('=', '')
}
