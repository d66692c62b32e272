import { setImmediate } from 'node:timers/promises'
import { isRecord } from '../../platform/diagnostics/record.ts'
import { ACCOUNT_CLIENT_ID } from '../config.ts'
import { forgetConsent, forgetConsents } from '../consent/remembered-consents.ts'
import { collect, listArtifacts } from './list-artifacts.ts'
import type { ArtifactWrite, ListedArtifact, Store } from './store.ts'

/** Selects the grants that match all fields. An undefined field matches every grant. */
export type GrantFilters = {
  readonly client?: string | undefined
  readonly accountId?: string | undefined
  readonly createdUpToSeconds?: number | undefined
}

export type FoundGrant = {
  /** Hash of the id of the grant, as in introspection responses and revocations. */
  readonly grant: string
  readonly accountId: string
  readonly clientId: string
  readonly scopes: readonly string[]
  readonly resources: readonly string[]
  readonly createdAtSeconds: number | undefined
  readonly expiresAtSeconds: number | undefined
}

/** Finds the grants that match the filters, newest first. Omits the grants of the account page. */
export async function findGrants(
  store: Pick<Store, 'artifacts'>,
  filters: GrantFilters,
): Promise<readonly FoundGrant[]> {
  const { accountId, client, createdUpToSeconds } = filters
  const listed =
    accountId === undefined
      ? await collect(listArtifacts(store, 'Grant'))
      : await store.artifacts('Grant').listByAccount(accountId)
  return listed
    .flatMap((artifact) => toGrant(artifact) ?? [])
    .filter(
      (grant) =>
        grant.clientId === (client ?? grant.clientId) &&
        (createdUpToSeconds === undefined || (grant.createdAtSeconds ?? 0) <= createdUpToSeconds),
    )
    .sort((a, b) => (b.createdAtSeconds ?? 0) - (a.createdAtSeconds ?? 0))
}

/** Finds a grant by its hash. The result has no expiry. */
export async function findGrant(
  store: Pick<Store, 'artifacts'>,
  grantHash: string,
): Promise<FoundGrant | undefined> {
  const payload = await store.artifacts('Grant').findByHash(grantHash)
  return payload && toGrant({ idHash: grantHash, payload, expiresAtSeconds: undefined })
}

/** Reads a stored grant. Returns undefined for a grant of the account page. */
export function toGrant({ idHash, payload, expiresAtSeconds }: ListedArtifact): FoundGrant | undefined {
  const clientId = String(payload['clientId'])
  if (clientId === ACCOUNT_CLIENT_ID) return undefined
  return {
    grant: idHash,
    accountId: String(payload['accountId']),
    clientId,
    scopes: scopesOf(payload),
    resources: isRecord(payload['resources']) ? Object.keys(payload['resources']) : [],
    createdAtSeconds: numberOf(payload['iat']),
    expiresAtSeconds,
  }
}

/**
 * Ends grants with their tokens, and publishes the revocations. Removes the remembered consents, so the next
 * authorization of the client asks the person.
 * @param onEnded receives each grant that this call ended.
 */
export async function endGrants(
  store: Pick<Store, 'artifacts'>,
  grants: readonly FoundGrant[],
  onEnded: (grant: FoundGrant) => void,
): Promise<void> {
  for (const grant of grants) {
    await forgetConsent(store, grant.accountId, grant.clientId)
    if (await store.artifacts('Grant').revokeByGrantHash(grant.grant)) onEnded(grant)
    await setImmediate() // SQLite calls are synchronous, so other requests run between two grants
  }
}

/**
 * Ends all grants that match the filters. Forgets the consents first. An authorization with a consent reads the consent
 * again after the write of its grant. This call therefore finds the grant, or the authorization finds no consent.
 */
export async function endAllGrants(
  store: Pick<Store, 'artifacts'>,
  filters: GrantFilters,
  onEnded: (grant: FoundGrant) => void,
): Promise<void> {
  if (filters.createdUpToSeconds === undefined) await forgetConsents(store, filters)
  await endGrants(store, await findGrants(store, filters), onEnded)
}

/** Name of the model of the last uses. The ID is the ID of the grant, so a grant has at most one artifact. */
const USE_MODEL = 'GrantUse'

/** Returns the write that records a refresh of a grant. The record expires with the grant. */
export function grantUse(
  {
    grantId,
    accountId,
    grantEndSeconds,
  }: { readonly grantId: string; readonly accountId: unknown; readonly grantEndSeconds: number },
  nowSeconds: number,
): ArtifactWrite {
  return {
    model: USE_MODEL,
    id: grantId,
    payload: { grantId, accountId, usedAtSeconds: nowSeconds },
    expiresInSeconds: Math.max(1, grantEndSeconds - nowSeconds),
  }
}

/**
 * Returns the time of the last refresh of each grant, by the hash of the grant. Unix time. A grant without a refresh is
 * not in the result.
 */
export async function lastRefreshes(
  store: Pick<Store, 'artifacts'>,
  accountId: string | undefined,
): Promise<ReadonlyMap<string, number>> {
  const uses =
    accountId === undefined
      ? await collect(listArtifacts(store, USE_MODEL))
      : await store.artifacts(USE_MODEL).listByAccount(accountId)
  return new Map(uses.map(({ idHash, payload }) => [idHash, numberOf(payload['usedAtSeconds']) ?? 0]))
}

/** Returns the time of the last refresh of a grant. Unix time. Undefined: the grant has no refresh. */
export async function lastRefresh(
  store: Pick<Store, 'artifacts'>,
  grantHash: string,
): Promise<number | undefined> {
  const payload = await store.artifacts(USE_MODEL).findByHash(grantHash)
  return numberOf(payload?.['usedAtSeconds'])
}

/** Returns the scopes of a grant of the engine: `openid.scope`, and the scopes of each resource. */
function scopesOf(payload: Readonly<Record<string, unknown>>): readonly string[] {
  const { openid, resources } = payload
  const texts = [
    ...(isRecord(openid) ? [openid['scope']] : []),
    ...(isRecord(resources) ? Object.values(resources) : []),
  ]
  const scopes = texts.flatMap((text) => (typeof text === 'string' ? text.split(' ') : []))
  return [...new Set(scopes.filter((scope) => scope !== ''))].sort()
}

function numberOf(value: unknown): number | undefined {
  return typeof value === 'number' ? value : undefined
}
