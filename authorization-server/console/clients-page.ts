import type { ConsolePage } from '../../platform/pages/console-page.ts'
import { type Html, html } from '../../platform/pages/html.ts'
import { definitions } from '../../platform/pages/state-text.ts'
import { table } from '../../platform/pages/table.ts'
import {
  type DescribedClient,
  describeClient,
  describeConfiguredClient,
} from '../administration/describe-client.ts'
import { textsOf } from '../administration/payload-values.ts'
import { hashId } from '../store/artifact-record.ts'
import type { ListedArtifact } from '../store/store.ts'
import { clientHref, grantsHref } from './access-hrefs.ts'
import type { ConsoleSource } from './console-source.ts'
import type { Counts } from './counts.ts'
import { type GrantsData, grantTable, nextLink, readGrants, shown, timeText } from './grants-page.ts'
import { readScreen } from './read-screen.ts'

type ClientRow = DescribedClient & {
  /** Empty for a client of the configuration. */
  readonly grantTypes: readonly string[]
  /** null: the server has too many grants to count them. */
  readonly grants: number | null
}

type ClientsData = { readonly clients: readonly ClientRow[]; readonly next: string | null }

const KINDS = ['configured', 'registered', 'document'] as const

/** The clients of the configuration, registered clients and client documents, with filters. */
export function clientsPage(source: ConsoleSource, counts: () => Promise<Counts>): ConsolePage<ClientsData> {
  const { store } = source
  return {
    path: '/console/clients',
    title: 'Clients',
    isPrivate: true,
    async data(query) {
      const counted = await counts()
      const search = query.get('search')?.trim().toLowerCase() ?? ''
      const kind = query.get('kind') ?? ''
      const matches = (client: DescribedClient): boolean =>
        (kind === '' || client.kind === kind) &&
        [client.client, client.name ?? '', ...client.redirectUris].some((text) =>
          text.toLowerCase().includes(search),
        )
      const position = query.get('after')
      const { rows, next } = await readScreen(
        store,
        'Client',
        (artifact) => {
          const row = toRow(artifact, counted)
          return matches(row) ? row : undefined
        },
        position,
      )
      const configured = position === null ? configuredRows(source, counted).filter(matches) : []
      return { clients: [...configured, ...rows], next: next ?? null }
    },
    render: ({ clients, next }, query) => html`${filterForm(query)}
${
  clients.length === 0
    ? html`<p>${next === null ? 'No client was found.' : 'No client was found in this part of the list.'}</p>`
    : table(
        [
          ...['Name', 'Client ID', 'Kind', 'Redirect URIs', 'Grant types', 'Created'].map((title) => ({
            title,
          })),
          { title: 'Grants', isCount: true },
        ],
        clients.map(clientCells),
      )
}<p class="pages">${nextLink('/console/clients', query, next)}</p>`,
  }
}

function toRow(artifact: Pick<ListedArtifact, 'payload' | 'expiresAtSeconds'>, counts: Counts): ClientRow {
  const client = describeClient(artifact)
  return {
    ...client,
    grantTypes: textsOf(artifact.payload['grant_types']),
    grants: grantsOf(client.client, counts),
  }
}

function configuredRows({ configured }: ConsoleSource, counts: Counts): readonly ClientRow[] {
  return configured.map((one) => ({
    ...describeConfiguredClient(one),
    grantTypes: [],
    grants: grantsOf(one.clientId, counts),
  }))
}

function grantsOf(client: string, { grants, grantsOfClients }: Counts): number | null {
  return grants.isExact ? (grantsOfClients.get(client) ?? 0) : null
}

function clientCells(row: ClientRow): readonly (Html | string)[] {
  return [
    html`<a href="${clientHref(row.client)}">${shown(row.name ?? row.client)}</a>`,
    html`<code>${shown(row.client)}</code>`,
    html`<span class="words">${row.kind}</span>`,
    row.redirectUris.length === 0
      ? '-'
      : html`${row.redirectUris.map((uri) => html`<code>${shown(uri)}</code> `)}`,
    html`<span class="words">${row.grantTypes.join(', ') || '-'}</span>`,
    timeText(row.registered),
    row.grants === null
      ? '-'
      : html`<a href="${grantsHref({ client: row.client })}">${row.grants}<span class="unseen"> grants of ${shown(row.name ?? row.client)}</span></a>`,
  ]
}

function filterForm(query: URLSearchParams): Html {
  const option = (kind: string) =>
    html`<option value="${kind}"${query.get('kind') === kind && html` selected`}>${kind}</option>`
  return html`<form class="filter" action="/console/clients" method="get">
<p><label for="filter-search">Name, client ID or redirect URI</label><input type="search" id="filter-search" name="search" value="${query.get('search') ?? ''}"></p>
<p><label for="filter-kind">Kind</label><select id="filter-kind" name="kind"><option value="">all</option>${KINDS.map(option)}</select></p>
<p><button type="submit">Filter</button></p>
</form>`
}

type ClientData = { readonly client: ClientRow; readonly grants: GrantsData }

/** One client, with the first page of its grants. */
export function clientPage(source: ConsoleSource, counts: () => Promise<Counts>): ConsolePage<ClientData> {
  const { store } = source
  return {
    path: '/console/client',
    title: 'Client',
    parent: '/console/clients',
    isPrivate: true,
    heading: ({ client }) => client.name ?? client.client,
    async data(query) {
      const id = query.get('client') ?? ''
      const counted = await counts()
      const configured = configuredRows(source, counted).find(({ client }) => client === id)
      const payload = configured ? undefined : await store.artifacts('Client').findByHash(hashId(id))
      const client = configured ?? (payload && toRow({ payload, expiresAtSeconds: undefined }, counted))
      return client && { client, grants: await readGrants(source, new URLSearchParams({ client: id })) }
    },
    render: ({ client, grants }) => html`${definitions([
      ['Client ID', html`<code>${shown(client.client)}</code>`],
      ['Kind', client.kind],
      [
        'Redirect URIs',
        client.redirectUris.length === 0
          ? '-'
          : html`${client.redirectUris.map((uri) => html`<code>${shown(uri)}</code><br>`)}`,
      ],
      ['Grant types', client.grantTypes.join(', ') || '-'],
      ['Created', timeText(client.registered)],
      ['Grants', client.grants === null ? 'more than the console counts' : String(client.grants)],
    ])}
<h2>Grants</h2>
${grantTable(grants, new URLSearchParams({ client: client.client }))}`,
  }
}
