import type { ConsolePage } from '../../platform/pages/console-page.ts'
import { displayText, type Html, html } from '../../platform/pages/html.ts'
import { table } from '../../platform/pages/table.ts'
import { findStoredAccount } from '../accounts/find-stored-account.ts'
import { textOf, timeOf } from '../administration/payload-values.ts'
import { hashId } from '../store/artifact-record.ts'
import type { ListedArtifact } from '../store/store.ts'
import { type FoundGrant, findGrants, lastRefresh, toGrant } from '../store/stored-grants.ts'
import { clientHref, grantsHref, readSelection, revokeHref } from './access-hrefs.ts'
import type { ConsoleSource } from './console-source.ts'
import { readScreen, SCREEN_ROWS } from './read-screen.ts'

export type GrantRow = {
  readonly grant: string
  /** User name. The ID of the account if the account does not exist. */
  readonly account: string
  readonly accountId: string
  readonly client: string
  /** null: the client does not exist, or it has no name. */
  readonly clientName: string | null
  readonly scopes: readonly string[]
  readonly resources: readonly string[]
  readonly created: string | null
  /** Time of the last refresh. null: no refresh. */
  readonly lastUse: string | null
  readonly expires: string | null
}

export type GrantsData = {
  readonly grants: readonly GrantRow[]
  /** Position of the next page. null: no page follows. */
  readonly next: string | null
  /** Whether the named account exists. */
  readonly accountExists: boolean
}

type GrantSource = Pick<ConsoleSource, 'store' | 'configured'>

/** The grants, with filters. */
export function grantsPage(source: GrantSource): ConsolePage<GrantsData> {
  return {
    path: '/console/grants',
    title: 'Grants',
    isPrivate: true,
    data: (query) => readGrants(source, query),
    render: (
      data,
      query,
    ) => html`<p>A grant is the consent of a person for a client. All tokens of the client for this person belong to the grant.</p>
${filterForm(query)}
${grantTable(data, query)}`,
  }
}

/** Reads one page of the grants that the query selects. */
export async function readGrants(source: GrantSource, query: URLSearchParams): Promise<GrantsData> {
  const { store } = source
  const { account: typed, client } = readSelection(query)
  const position = query.get('after')
  const select = (artifact: ListedArtifact): FoundGrant | undefined => {
    const grant = toGrant(artifact)
    return grant !== undefined && (client === undefined || grant.clientId === client) ? grant : undefined
  }
  if (typed === undefined) {
    const { rows, next } = await readScreen(store, 'Grant', select, position)
    return { grants: await toRows(source, rows), next: next ?? null, accountExists: true }
  }
  const account = await findStoredAccount(store, typed)
  if (account === undefined) return { grants: [], next: null, accountExists: false }
  const all = await findGrants(store, { accountId: account.id, client })
  const start = Number(/^\d{1,6}$/.exec(position ?? '')?.[0] ?? 0)
  const end = start + SCREEN_ROWS
  return {
    grants: await toRows(source, all.slice(start, end)),
    next: all.length > end ? String(end) : null,
    accountExists: true,
  }
}

async function toRows(
  { store, configured }: GrantSource,
  grants: readonly FoundGrant[],
): Promise<readonly GrantRow[]> {
  const names = await lookUp(
    grants.map(({ accountId }) => accountId),
    async (id) => (await store.accounts.findById(id))?.username,
  )
  const clients = store.artifacts('Client')
  const clientNames = await lookUp(
    grants.map(({ clientId }) => clientId),
    async (id) =>
      configured.find(({ clientId }) => clientId === id)?.clientName ??
      textOf((await clients.findByHash(hashId(id)))?.['client_name']),
  )
  return Promise.all(
    grants.map(async ({ grant, accountId, clientId, scopes, resources, ...times }) => ({
      grant,
      account: names.get(accountId) ?? accountId,
      accountId,
      client: clientId,
      clientName: clientNames.get(clientId) ?? null,
      scopes,
      resources,
      created: timeOf(times.createdAtSeconds),
      lastUse: timeOf(await lastRefresh(store, grant)),
      expires: timeOf(times.expiresAtSeconds),
    })),
  )
}

/** Looks up each key once, at the same time. */
async function lookUp<Value>(
  keys: readonly string[],
  find: (key: string) => Promise<Value>,
): Promise<ReadonlyMap<string, Value>> {
  return new Map(await Promise.all([...new Set(keys)].map(async (key) => [key, await find(key)] as const)))
}

function filterForm(query: URLSearchParams): Html {
  const { account = '', client = '' } = readSelection(query)
  return html`<form class="filter" action="/console/grants" method="get">
<p><label for="filter-account">Person (user name or ID)</label><input type="search" id="filter-account" name="account" value="${account}"></p>
<p><label for="filter-client">Client ID</label><input type="search" id="filter-client" name="client" value="${client}"></p>
<p><button type="submit">Filter</button></p>
</form>`
}

/** Renders the rows with links to revoke access. */
export function grantTable({ grants, next, accountExists }: GrantsData, query: URLSearchParams): Html {
  const { account, client } = readSelection(query)
  if (!accountExists) return html`<p>This person does not exist.</p>`
  const all = { ...(account === undefined ? {} : { account }), ...(client === undefined ? {} : { client }) }
  const found =
    grants.length === 0
      ? html`<p>${next === null ? 'No grant was found.' : 'No grant was found in this part of the list.'}</p>`
      : table(
          ['Person', 'Client', 'Scopes', 'Resources', 'Created', 'Last refresh', 'Expires', 'Access'].map(
            (title) => ({ title }),
          ),
          grants.map(grantCells),
        )
  return html`${found}<p class="pages">${nextLink('/console/grants', query, next)}${Object.keys(all).length > 0 && grants.length > 0 && html`<a href="${revokeHref(all)}">Revoke all of these grants</a>`}</p>`
}

function grantCells(row: GrantRow): readonly (Html | string)[] {
  return [
    html`<a href="${grantsHref({ account: row.accountId })}">${shown(row.account)}</a>`,
    html`<a href="${clientHref(row.client)}">${shown(row.clientName ?? row.client)}</a>`,
    row.scopes.join(' '),
    row.resources.join(' ') || '-',
    timeText(row.created),
    timeText(row.lastUse),
    timeText(row.expires),
    html`<a class="words" href="${revokeHref({ grant: row.grant })}">Revoke<span class="unseen"> the grant of ${shown(row.account)} for ${shown(row.clientName ?? row.client)}</span></a>`,
  ]
}

/** Renders the link to the next page of a list. */
export function nextLink(path: string, query: URLSearchParams, next: string | null): Html | undefined {
  if (next === null) return undefined
  const target = new URLSearchParams(query)
  target.delete('format')
  target.set('after', next)
  return html`<a href="${path}?${target.toString()}">Next page</a>`
}

/** Text of people and clients, without invisible characters and changes of the reading direction. */
export function shown(text: string | null): Html {
  return html`<bdi>${displayText(text ?? undefined) ?? '-'}</bdi>`
}

export function timeText(time: string | null): Html | string {
  return time === null ? '-' : html`<time datetime="${time}">${time.slice(0, 16).replace('T', ' ')}</time>`
}
