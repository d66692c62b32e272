// The script of the API reference: sign-in (authorization code with PKCE), and requests to the API.
// Tokens stay in this scope. The script never stores a token, and sends it only to the API and to the revocation endpoint.
const access = document.getElementById('access')
const settings = JSON.parse(access.dataset.settings)
const status = document.getElementById('access-status')
const scopesField = document.getElementById('scopes')
/** Token by resource: `{ value, refresh, clientId, revocationEndpoint, scope }`. */
const tokens = new Map()
let registered
let openapi
let stopWaiting = () => undefined

/** An error whose message is for the person. */
class Problem extends Error {}

const REDIRECT_URI = `${settings.baseUrl}/docs/signed-in`
const CLIENT_REMEDY = `the operator must register the public client "${settings.clientId}" with the redirect URI ${REDIRECT_URI} at the issuer, and write the client ID into docs.clientId.`
/** Remedy by error code. RFC 6749 sections 4.1.2.1 and 5.2. */
const REMEDIES = new Map([
  ['access_denied', 'You or the issuer denied the access. Use another account, or select fewer scopes.'],
  ['invalid_scope', 'The issuer does not grant these scopes to this client. Select fewer scopes.'],
  ['invalid_client', `To correct the client, ${CLIENT_REMEDY}`],
  ['unauthorized_client', `To correct the client, ${CLIENT_REMEDY}`],
])

const CORS_REMEDY = `The operator must check at the issuer: the browser can reach the issuer, the endpoints have the origin of the issuer, and the client may send CORS requests from ${settings.baseUrl}. You can use another access token.`

function rejection(error, description) {
  const what = description === undefined ? error : `${error} (${description})`
  return new Problem(
    `The issuer rejected the sign-in: ${what}. ${REMEDIES.get(error) ?? 'Sign in again, or ask the operator.'}`,
  )
}

// Sign-in ------------------------------------------------------------------------------------------------------------

async function signIn(resource) {
  if (location.origin !== settings.baseUrl) throw new Problem(`To sign in, open ${settings.baseUrl}/docs.`)
  stopWaiting()
  // Browsers open a window only directly after a click.
  const popup = open('', '_blank', 'popup,width=560,height=760')
  if (popup === null)
    throw new Problem('The browser blocked the sign-in window. Allow pop-ups for this page.')
  popup.opener = null
  try {
    const server = await discover(resource)
    const clientId = settings.clientId ?? (await register(server))
    const state = randomText()
    const verifier = randomText()
    const target = endpoint(server, 'authorization_endpoint')
    const request = {
      response_type: 'code',
      client_id: clientId,
      redirect_uri: REDIRECT_URI,
      scope: chosenScopes().join(' '),
      code_challenge: await challengeOf(verifier),
      code_challenge_method: 'S256',
      state,
      resource: resource.identifier,
    }
    for (const [name, value] of Object.entries(request))
      if (value !== '') target.searchParams.set(name, value)
    // Some issuers revoke all grants of the client together. A later revocation would revoke the new token.
    await revoke(resource).catch(() => undefined)
    const answer = waitForResponse(state)
    popup.location.replace(target.href)
    // The issuer shows a wrong client or redirect URI only in its own window.
    if (settings.clientId !== undefined)
      showAccess(`Continue in the sign-in window. If the window shows an error: ${CLIENT_REMEDY}`)
    const response = await answer
    // RFC 9207 section 2.4: a response of another server must not reach the token endpoint.
    const isFromIssuer =
      response.iss === undefined
        ? server.authorization_response_iss_parameter_supported !== true
        : response.iss === resource.issuer
    if (!isFromIssuer) throw new Problem('The response is from another server. Sign in again.')
    if (typeof response.code !== 'string')
      throw rejection(response.error ?? 'the response has no code', response.error_description)
    const token = await postForm(endpoint(server, 'token_endpoint'), {
      grant_type: 'authorization_code',
      code: response.code,
      redirect_uri: REDIRECT_URI,
      client_id: clientId,
      code_verifier: verifier,
      resource: resource.identifier,
    })
    if (typeof token.access_token !== 'string' || String(token.token_type).toLowerCase() !== 'bearer')
      throw new Problem('The token endpoint returned no Bearer token.')
    tokens.set(resource.identifier, {
      value: token.access_token,
      refresh: token.refresh_token,
      clientId,
      revocationEndpoint: server.revocation_endpoint && endpoint(server, 'revocation_endpoint'),
      scope: token.scope ?? request.scope,
    })
  } catch (error) {
    popup.close()
    throw error
  }
}

/** Reads the metadata of the issuer: RFC 8414, or else OpenID Connect Discovery. */
async function discover({ issuer, metadataUrls }) {
  for (const url of metadataUrls) {
    // A server can send 404 without CORS headers.
    const response = await send(url, { headers: { accept: 'application/json' } }).catch(() => undefined)
    if (response?.ok !== true) continue
    const metadata = await response.json()
    // RFC 8414 section 3.3.
    if (metadata.issuer !== issuer) throw new Problem('The metadata belongs to another issuer.')
    return metadata
  }
  throw new Problem(`This page cannot read the metadata of the issuer ${issuer}. ${CORS_REMEDY}`)
}

/** Returns an endpoint of the metadata. Another scheme, such as `javascript:`, would run code in this page. */
function endpoint(metadata, name) {
  const url = URL.parse(metadata[name])
  const isLoopback = url?.hostname === 'localhost' || /^127(?:\.\d+){3}$|^\[::1\]$/.test(url?.hostname)
  const isSecure =
    url?.protocol === 'https:' ||
    (url?.protocol === 'http:' && (isLoopback || url.origin === location.origin))
  if (!isSecure) throw new Problem(`The metadata of the issuer has no valid ${name}.`)
  return url
}

/** Registers this page as a native client. RFC 7591. Only for a gateway on this computer. */
async function register(server) {
  if (!settings.registers) throw new Problem('The operator has configured no client for this page.')
  if (registered === undefined) {
    const response = await call(endpoint(server, 'registration_endpoint'), {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({
        client_name: 'API reference',
        application_type: 'native',
        redirect_uris: [REDIRECT_URI],
        token_endpoint_auth_method: 'none',
      }),
    })
    registered = (await readJson(response)).client_id
  }
  return registered
}

/** Waits for the response with this state. Ignores all other messages. */
function waitForResponse(state) {
  return new Promise((resolve, reject) => {
    const channel = new BroadcastChannel('scopegate-sign-in')
    stopWaiting = () => {
      channel.close()
      reject(new Problem('Another sign-in has started.'))
    }
    channel.onmessage = ({ data }) => {
      if (data?.response?.state !== state) return
      channel.postMessage({ received: state })
      channel.close()
      resolve(data.response)
    }
  })
}

/**
 * Discards the token of a resource, and revokes a token of the sign-in. RFC 7009. `keepalive`: the browser also sends the
 * requests when it leaves the page.
 */
async function revoke(resource) {
  const { value, refresh, clientId, revocationEndpoint } = tokens.get(resource.identifier) ?? {}
  tokens.delete(resource.identifier)
  if (!revocationEndpoint) return
  const values = [refresh, value].filter((one) => typeof one === 'string')
  await Promise.all(
    values.map((token) => {
      const body = new URLSearchParams({ token, client_id: clientId })
      return call(revocationEndpoint, { method: 'POST', body, keepalive: true })
    }),
  )
}

function randomText() {
  return base64url(crypto.getRandomValues(new Uint8Array(32)))
}

async function challengeOf(verifier) {
  return base64url(new Uint8Array(await crypto.subtle.digest('SHA-256', new TextEncoder().encode(verifier))))
}

function base64url(bytes) {
  return btoa(String.fromCharCode(...bytes))
    .replaceAll('+', '-')
    .replaceAll('/', '_')
    .replaceAll('=', '')
}

async function postForm(url, fields) {
  return readJson(await call(url, { method: 'POST', body: new URLSearchParams(fields) }))
}

/** Calls an endpoint of the issuer. The browser hides why a response is missing. */
async function call(url, options) {
  try {
    return await send(url, options)
  } catch {
    throw new Problem(`This page got no response from ${url.origin}${url.pathname}. ${CORS_REMEDY}`)
  }
}

async function readJson(response) {
  const body = await response.json().catch(() => ({}))
  if (!response.ok) throw rejection(body.error ?? `status ${response.status}`, body.error_description)
  return body
}

/** Sends a request without cookies. */
function send(url, options) {
  return fetch(url, {
    ...options,
    credentials: 'omit',
    redirect: 'error',
    cache: 'no-store',
    referrerPolicy: 'no-referrer',
  })
}

// Access panel -------------------------------------------------------------------------------------------------------

function resourceNow() {
  const select = document.getElementById('resource')
  return settings.resources[select === null ? 0 : select.selectedIndex]
}

function chosenScopes() {
  return [...scopesField.querySelectorAll('input:checked')].map((input) => input.value)
}

function showAccess(text, isWrong = false) {
  const resource = resourceNow()
  const token = tokens.get(resource.identifier)
  document.getElementById('sign-out').hidden = token === undefined
  const canSignIn = settings.clientId !== undefined || settings.registers
  document.getElementById('sign-in').hidden = !canSignIn
  scopesField.parentElement.hidden = !canSignIn
  const state =
    token === undefined
      ? 'Requests have no token.'
      : `Requests have an access token${token.scope ? ` with ${token.scope}` : ''}.`
  status.className = isWrong ? 'wrong' : 'notice'
  status.textContent = visible(text === undefined ? state : text)
}

function showScopeCount() {
  document.getElementById('scope-count').textContent = String(chosenScopes().length)
}

async function run(action, progress) {
  showAccess(progress)
  try {
    await action()
    showAccess()
  } catch (error) {
    showAccess(error instanceof Problem ? error.message : `The sign-in failed: ${error.message}`, true)
  }
}

document.getElementById('sign-in').addEventListener('click', () => {
  run(() => signIn(resourceNow()), 'Continue in the sign-in window.')
})
document.getElementById('sign-out').addEventListener('click', () => {
  run(() => revoke(resourceNow()), 'Signing out.')
})
document.getElementById('resource')?.addEventListener('change', () => showAccess())
scopesField.addEventListener('change', showScopeCount)
document.getElementById('own-token').addEventListener('submit', (event) => {
  event.preventDefault()
  const input = event.target.elements.token
  const value = input.value.trim()
  input.value = ''
  if (value === '') return
  const resource = resourceNow()
  revoke(resource).catch(() => undefined)
  tokens.set(resource.identifier, { value })
  showAccess()
})
addEventListener('pagehide', () => {
  for (const resource of settings.resources) revoke(resource).catch(() => undefined)
})
// The browser can restore the page later, without its tokens.
addEventListener('pageshow', ({ persisted }) => {
  if (persisted) showAccess()
})

// Operations ---------------------------------------------------------------------------------------------------------

/** Shows bidirectional control characters as text, as the server does. These could reverse the text around them. */
function visible(text) {
  return text.replace(
    /[\u202a-\u202e\u2066-\u2069]/g,
    (character) => `\\u{${character.codePointAt(0).toString(16)}}`,
  )
}

/** Creates an element. Text and attributes are never parsed as markup. */
function element(name, attributes = {}, ...children) {
  const created = document.createElement(name)
  for (const [key, value] of Object.entries(attributes))
    if (value !== undefined) created.setAttribute(key, value)
  created.append(...children.map((child) => (typeof child === 'string' ? visible(child) : child)))
  return created
}

function resolveRef(value, depth = 0) {
  const reference = value?.$ref
  if (typeof reference !== 'string' || !reference.startsWith('#/') || depth > 8) return value ?? {}
  let found = openapi
  for (const key of reference.slice(2).split('/'))
    found = Object.hasOwn(found ?? {}, unescapePointer(key)) ? found[unescapePointer(key)] : undefined
  return resolveRef(found, depth + 1)
}

function unescapePointer(key) {
  return key.replaceAll('~1', '/').replaceAll('~0', '~')
}

/** Creates an example value for a JSON schema. */
function exampleOf(given, depth = 0) {
  const schema = resolveRef(given)
  if (typeof schema !== 'object' || depth > 5) return null
  for (const key of ['example', 'default', 'const']) if (schema[key] !== undefined) return schema[key]
  if (Array.isArray(schema.examples) && schema.examples.length > 0) return schema.examples[0]
  if (Array.isArray(schema.enum)) return schema.enum[0]
  const [first] = schema.oneOf ?? schema.anyOf ?? []
  if (first !== undefined) return exampleOf(first, depth + 1)
  if (Array.isArray(schema.allOf)) {
    const parts = schema.allOf.map((part) => exampleOf(part, depth + 1))
    return parts.every((part) => typeof part === 'object') ? Object.assign({}, ...parts) : parts[0]
  }
  const type = Array.isArray(schema.type) ? schema.type[0] : schema.type
  if (type === 'object' || schema.properties !== undefined)
    return Object.fromEntries(
      Object.entries(schema.properties ?? {})
        .filter(([, property]) => resolveRef(property).readOnly !== true)
        .map(([name, property]) => [name, exampleOf(property, depth + 1)]),
    )
  if (type === 'array') return [exampleOf(schema.items, depth + 1)]
  if (type === 'integer' || type === 'number') return schema.minimum ?? 1
  if (type === 'boolean') return true
  if (type === 'string') return schema.format === 'date-time' ? '2026-01-01T00:00:00Z' : 'text'
  return null
}

function jsonText(value) {
  return JSON.stringify(value, undefined, 2) ?? ''
}

let ids = 0
function labelled(text, input, hint) {
  ids += 1
  input.id = `field-${ids}`
  const label = element('label', { for: input.id }, text)
  if (hint === undefined || hint === '') return [label, input]
  input.setAttribute('aria-describedby', `${input.id}-hint`)
  return [label, element('p', { class: 'hint', id: `${input.id}-hint` }, hint), input]
}

function mediaOf(content) {
  const types = Object.keys(content ?? {})
  const type = types.find((one) => /[/+]json\b/.test(one)) ?? types[0]
  return type === undefined ? undefined : { type, ...content[type] }
}

function exampleOfMedia(media) {
  const [named] = Object.values(media.examples ?? {})
  const given = media.example ?? resolveRef(named)?.value
  return given === undefined ? exampleOf(media.schema) : given
}

/** Fills an operation when the person opens it for the first time. */
async function fill(operation) {
  const content = operation.querySelector('div')
  const { method, path, resource } = operation.dataset
  openapi ??= await (await send('/openapi.json', {})).json()
  const item = openapi.paths?.[path] ?? {}
  const described = item[method.toLowerCase()] ?? {}
  const form = element('form')
  if (described.description) form.append(element('p', {}, described.description))
  const parameters = [...(item.parameters ?? []), ...(described.parameters ?? [])].map((one) =>
    resolveRef(one),
  )
  const fields = []
  for (const parameter of parameters) {
    if (!['path', 'query', 'header'].includes(parameter.in)) continue
    const { enum: values } = resolveRef(parameter.schema)
    const isRequired = parameter.required === true || parameter.in === 'path'
    const input = Array.isArray(values)
      ? element(
          'select',
          {},
          ...(isRequired ? values : ['', ...values]).map((value) =>
            element('option', { value }, String(value)),
          ),
        )
      : element('input', { type: 'text', autocomplete: 'off', spellcheck: 'false' })
    input.required = isRequired
    fields.push({ parameter, input })
    form.append(
      ...labelled(
        `${parameter.name} (${parameter.in}${isRequired ? ', required' : ''})`,
        input,
        parameter.description,
      ),
    )
  }
  const media = mediaOf(resolveRef(described.requestBody).content)
  const body = media && element('textarea', { spellcheck: 'false' })
  if (body !== undefined) {
    const example = exampleOfMedia(media)
    body.value = typeof example === 'string' ? example : jsonText(example)
    form.append(...labelled(`Body (${media.type})`, body))
  }
  const result = element('div', { role: 'status' })
  form.append(element('button', {}, `Send ${method}`), result)
  form.addEventListener('submit', (event) => {
    event.preventDefault()
    request({ method, path, resource, fields, body, media, result })
  })
  const responses = Object.entries(described.responses ?? {}).map(([code, response]) => {
    const { description = '', content: of } = resolveRef(response)
    const example = mediaOf(of)
    const title = element('summary', {}, element('strong', {}, code), ` ${description}`)
    return example === undefined
      ? element('p', {}, element('strong', {}, code), ` ${description}`)
      : element('details', {}, title, element('pre', { tabindex: '0' }, jsonText(exampleOfMedia(example))))
  })
  content.replaceChildren(form, element('h4', {}, 'Responses'), ...responses)
}

/** The response headers that help a developer. */
const SHOWN_HEADERS = [
  ...['content-type', 'www-authenticate', 'x-request-id', 'retry-after', 'allow', 'location', 'link'],
  ...['ratelimit', 'ratelimit-policy', 'etag'],
]
const MAX_SHOWN = 100_000

async function request({ method, path, resource, fields, body, media, result }) {
  result.replaceChildren('Sending.')
  try {
    const values = (where) =>
      fields.filter(({ parameter, input }) => parameter.in === where && input.value !== '')
    const ofPath = new Map(values('path').map(({ parameter, input }) => [parameter.name, input.value]))
    const target = path.replace(/\{([^{}]+)\}/g, (_, name) => encodeURIComponent(ofPath.get(name) ?? ''))
    const url = new URL(target, location.origin)
    if (url.origin !== location.origin) throw new Problem('The path leads to another origin.')
    for (const { parameter, input } of values('query')) url.searchParams.append(parameter.name, input.value)
    const headers = new Headers()
    for (const { parameter, input } of values('header')) headers.set(parameter.name, input.value)
    if (body !== undefined) headers.set('content-type', media.type)
    const token = tokens.get(resource)
    if (token !== undefined) headers.set('authorization', `Bearer ${token.value}`)
    const startedMs = performance.now()
    const response = await send(url, { method, headers, ...(body === undefined ? {} : { body: body.value }) })
    const text = await response.text()
    showResponse(result, response, text, Math.round(performance.now() - startedMs))
  } catch (error) {
    result.replaceChildren(element('p', { class: 'wrong' }, `The request failed: ${error.message}`))
  }
}

function showResponse(result, response, text, milliseconds) {
  const parsed = parseJson(text)
  const shown = parsed === undefined ? text : jsonText(parsed)
  const headers = SHOWN_HEADERS.flatMap((name) => {
    const value = response.headers.get(name)
    return value === null ? [] : [`${name}: ${value}`]
  })
  result.replaceChildren(
    element('h4', {}, `${response.status} ${response.statusText} in ${milliseconds} ms`),
    ...explain(response, parsed),
    element('pre', { tabindex: '0' }, headers.join('\n')),
    ...(shown === '' ? [] : [element('pre', { tabindex: '0' }, shown.slice(0, MAX_SHOWN))]),
  )
}

/** Explains an error of the gateway. Selects the missing scopes, so that the next sign-in requests them. */
function explain(response, body) {
  const code = body?.error
  if (
    response.headers.get('x-scopegate-error') !== '1' ||
    typeof code !== 'string' ||
    !/^[a-z_]+$/.test(code)
  )
    return []
  // In this window, the link would end the sign-in.
  const link = element('a', { href: `/docs/errors/${code}`, target: '_blank' }, code)
  const text = element('p', { class: 'notice' }, 'The gateway rejected the request: ', link, '. ')
  const missing = typeof body.scope === 'string' ? body.scope.split(' ') : []
  const inputs = [...scopesField.querySelectorAll('input')].filter(({ value }) => missing.includes(value))
  if (inputs.length > 0) {
    for (const input of inputs) input.checked = true
    showScopeCount()
    text.append(`The scopes ${missing.join(' ')} are now selected: sign in again.`)
  }
  return [text]
}

function parseJson(text) {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

for (const operation of document.querySelectorAll('.operation'))
  operation.addEventListener('toggle', () => {
    if (!operation.open || operation.dataset.filled !== undefined) return
    operation.dataset.filled = ''
    fill(operation).catch((error) => {
      delete operation.dataset.filled
      operation.querySelector('div').textContent = `The description cannot be read: ${error.message}`
    })
  })

const filter = document.getElementById('filter')
filter.addEventListener('input', () => {
  const words = filter.value.toLowerCase().split(/\s+/)
  for (const group of document.querySelectorAll('.group')) {
    let isEmpty = true
    for (const operation of group.querySelectorAll('.operation')) {
      const text = operation.querySelector('summary').textContent.toLowerCase()
      operation.hidden = !words.every((word) => text.includes(word))
      isEmpty &&= operation.hidden
    }
    group.hidden = isEmpty
  }
})

for (const part of document.querySelectorAll('.scripted')) part.hidden = false
showScopeCount()
showAccess()
