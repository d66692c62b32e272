import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { metadataUrlsOf } from '../../oauth/metadata.ts'
import type { ScopeDescription } from '../../oauth/scope.ts'
import { toRecord } from '../../platform/diagnostics/record.ts'
import { type Html, html } from '../../platform/pages/html.ts'
import { REFERENCE_PATH, SIGNED_IN_PATH } from '../../policy-engine/match/free-pages.ts'
import type { Resource, Resources } from '../../policy-engine/match/resources.ts'
import type { Representation } from '../discovery/discovery-document.ts'
import type { JsonObject } from '../discovery/openapi-components.ts'
import { renderPage } from './render-page.ts'

const readScript = (name: string): string =>
  readFileSync(join(import.meta.dirname, 'browser', `${name}.js`), 'utf8')
const REFERENCE_SCRIPT = readScript('reference')
const SIGNED_IN_SCRIPT = readScript('signed-in')

export type ReferencePageOptions = {
  readonly apiName: string
  readonly baseUrl: string
  readonly resources: Resources
  readonly bundledAuthorizationServer: boolean
  /** The client of this page at the first issuer of each resource. Undefined: no client. */
  readonly clientId: string | undefined
  /** Scopes of the API, in the order of the catalogue. */
  readonly scopes: readonly ScopeDescription[]
  /** The content of `/openapi.json`. */
  readonly openapi: JsonObject
}

type Operation = {
  readonly method: string
  readonly path: string
  readonly summary: string
  readonly tag: string
  /** The first alternative of scopes. */
  readonly scopes: readonly string[]
  readonly isTokenOptional: boolean
}

/**
 * Renders the API reference. The page contains the list of operations. The script adds the details of an operation from
 * `/openapi.json` when the person opens the operation, so the work for a request does not depend on the schemas.
 */
export function referencePage(options: ReferencePageOptions): Representation {
  const { apiName, baseUrl, resources } = options
  const operations = operationsOf(options.openapi)
  const groups = Map.groupBy(operations, ({ tag }) => tag)
  const body = html`<h1>API reference</h1>
<p class="lead">${operations.length} operations at <code>${baseUrl}</code>. <a href="/openapi.json">OpenAPI description</a></p>
<noscript><p class="notice">Requests from this page require JavaScript. The list of operations does not.</p></noscript>
${accessPanel(options, operations)}
<h2>Operations</h2>
<div class="scripted" hidden><label for="filter">Filter operations</label>
<input type="search" id="filter" autocomplete="off" spellcheck="false"></div>
${[...groups].map(
  ([tag, group]) => html`<section class="group"><h3>${tag}</h3>
${group.map((operation) => renderOperation(operation, resources))}</section>\n`,
)}`
  return renderPage({
    title: 'API reference',
    apiName,
    path: REFERENCE_PATH,
    hasReference: true,
    body,
    script: REFERENCE_SCRIPT,
    connects: options.clientId === undefined ? [] : issuerOrigins(resources, baseUrl),
  })
}

/** Renders the redirect URI of the sign-in. */
export function signedInPage(apiName: string): Representation {
  const body = html`<h1>Signed in</h1><p class="lead">You can close this window, and continue in the API reference.</p>`
  return renderPage({
    title: 'Signed in',
    apiName,
    path: SIGNED_IN_PATH,
    hasReference: true,
    body,
    script: SIGNED_IN_SCRIPT,
    isStored: false, // the URL contains the code
  })
}

function accessPanel(options: ReferencePageOptions, operations: readonly Operation[]): Html {
  const { resources, scopes } = options
  const needed = new Set(operations.flatMap((operation) => operation.scopes))
  const parts = resources.all.length > 1 ? resources.all : []
  return html`<section class="panel scripted" id="access" hidden aria-labelledby="access-title" data-settings="${JSON.stringify(settingsOf(options))}">
<h2 id="access-title">Access</h2>
<p id="access-status" role="status" class="notice"></p>
${
  parts.length > 0 &&
  html`<label for="resource">Part of the API</label><select id="resource">${parts.map(({ name, identifier }) => html`<option>${name} (${identifier})</option>`)}</select>`
}
<details><summary>Scopes to request (<span id="scope-count">0</span>)</summary>
<fieldset id="scopes"><legend>Scopes</legend><div class="choices">${scopes.map(
    ({ name, description, sensitivity }) =>
      html`<label title="${description}"><input type="checkbox" value="${name}"${sensitivity === 'read' && needed.has(name) && html` checked`}>${name}</label>\n`,
  )}</div></fieldset></details>
<p class="actions"><button type="button" id="sign-in">Sign in</button>
<button type="button" id="sign-out" class="quiet" hidden>Sign out</button></p>
<details><summary>Use an existing access token</summary>
<form id="own-token"><label for="token">Access token</label>
<input type="password" id="token" name="token" autocomplete="off" spellcheck="false"><button>Use this token</button></form></details>
<p class="hint">This page keeps tokens only in its memory. It revokes the tokens of a sign-in when you sign in again, reload or leave the page.</p>
</section>`
}

/** The settings of the script. */
function settingsOf({ baseUrl, clientId, resources, bundledAuthorizationServer }: ReferencePageOptions) {
  const [first] = resources.root.issuers
  return {
    baseUrl,
    clientId,
    // Any client can register with a loopback redirect URI. Other redirect URIs need a client of the operator.
    registers:
      bundledAuthorizationServer && first === baseUrl && /^http:\/\/127\.0\.0\.1(?::|$)/.test(baseUrl),
    resources: resources.all.map(({ identifier, issuers: [issuer = ''] }) => ({
      identifier,
      issuer,
      metadataUrls: metadataUrlsOf(issuer),
    })),
  }
}

/** Returns the origins of the issuers at which the page can sign in. */
function issuerOrigins({ all }: { readonly all: readonly Resource[] }, baseUrl: string): readonly string[] {
  const origins = all.flatMap(({ issuers: [issuer] }) =>
    issuer === undefined ? [] : [new URL(issuer).origin],
  )
  return [...new Set(origins)].filter((origin) => origin !== baseUrl)
}

const METHODS = ['get', 'put', 'post', 'delete', 'options', 'head', 'patch']

function operationsOf(openapi: JsonObject): readonly Operation[] {
  return Object.entries(toRecord(openapi['paths'])).flatMap(([path, item]) =>
    Object.entries(toRecord(item)).flatMap(([method, value]) => {
      if (!METHODS.includes(method)) return []
      const operation = toRecord(value)
      const { summary, tags } = operation
      const security = Array.isArray(operation['security']) ? operation['security'].map(toRecord) : []
      const [needed] = security.flatMap(({ oauth2 }) => (Array.isArray(oauth2) ? [oauth2.map(String)] : []))
      return [
        {
          method: method.toUpperCase(),
          path,
          summary: typeof summary === 'string' ? summary : '',
          tag: Array.isArray(tags) && typeof tags[0] === 'string' ? tags[0] : 'other',
          scopes: needed ?? [],
          isTokenOptional: security.some((one) => Object.keys(one).length === 0),
        },
      ]
    }),
  )
}

function renderOperation(operation: Operation, resources: Resources): Html {
  const { method, path, summary, scopes, isTokenOptional } = operation
  const resource = resources.of(path.replace(/\{[^{}]*\}/g, 'x')).identifier
  const needs = [
    scopes.length === 0 ? 'no scope' : scopes.join(' '),
    ...(isTokenOptional ? ['token optional'] : []),
  ]
  return html`<details class="operation" data-method="${method}" data-path="${path}" data-resource="${resource}"><summary><span class="method">${method}</span> <code>${path}</code> <span class="scopes">${needs.join(', ')}</span>${summary !== '' && html` <span class="what">${summary}</span>`}</summary><div></div></details>\n`
}
