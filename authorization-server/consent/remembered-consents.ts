import { collect, listArtifacts } from '../store/list-artifacts.ts'
import type { ArtifactStore, Store } from '../store/store.ts'
import { readRedirectTarget } from './consent-page.ts'

/** The access that a person allowed on the consent page. */
export type Consent = {
  readonly accountId: string
  readonly clientId: string
  readonly redirectUri: string
  readonly scopes: readonly string[]
  readonly resources: readonly string[]
}

/** Consents that people gave recently. A person does not need to allow the same access again. */
export type RememberedConsents = {
  /**
   * Returns whether the person allowed all of this access before: the same client and redirect address, and all of the
   * scopes and resources.
   */
  covers(consent: Consent): Promise<boolean>
  /** Stores a consent. Replaces the earlier consent of the account for the client. */
  remember(consent: Consent): Promise<void>
}

/**
 * Name of the artifact model. The payload contains `accountId`, so the store removes the consents of an account with its
 * other artifacts.
 */
const MODEL = 'Consent'

/** @param options.rememberSeconds validity of a consent. 0: the server asks at each authorization. */
export function createRememberedConsents(options: {
  readonly store: Pick<Store, 'artifacts'>
  readonly rememberSeconds: number
  /** True: also for apps on the device of the person, which cannot prove their identity. RFC 8252 section 8.6. */
  readonly includesLocalApps: boolean
  readonly nowSeconds: () => number
}): RememberedConsents {
  const { includesLocalApps, nowSeconds, rememberSeconds } = options
  const consents: ArtifactStore = options.store.artifacts(MODEL)
  const isExcluded = ({ redirectUri }: Consent): boolean =>
    rememberSeconds === 0 || (!includesLocalApps && readRedirectTarget(redirectUri).onThisDevice)

  return {
    covers: async (consent) => {
      if (isExcluded(consent)) return false
      const stored = await consents.find(keyOf(consent.accountId, consent.clientId))
      if (stored === undefined) return false
      // The stored expiry uses the setting at the time of the consent. The operator may have set a shorter time after
      // the consent.
      const { redirectUri, scopes, resources, consentedAtSeconds } = stored
      return (
        Number(consentedAtSeconds) + rememberSeconds > nowSeconds() &&
        redirectUri === withoutLoopbackPort(consent.redirectUri) &&
        containsAll(scopes, consent.scopes) &&
        containsAll(resources, consent.resources)
      )
    },
    remember: async (consent) => {
      if (isExcluded(consent)) return
      const { accountId, clientId, redirectUri, scopes, resources } = consent
      const payload = {
        accountId,
        clientId,
        redirectUri: withoutLoopbackPort(redirectUri),
        scopes,
        resources,
        consentedAtSeconds: nowSeconds(),
      }
      await consents.upsert(keyOf(accountId, clientId), payload, rememberSeconds)
    },
  }
}

/** Deletes the stored consent of an account for a client. The next authorization of the client then asks the person. */
export async function forgetConsent(
  store: Pick<Store, 'artifacts'>,
  accountId: string,
  clientId: string,
): Promise<void> {
  await store.artifacts(MODEL).destroy(keyOf(accountId, clientId))
}

/** Deletes the consents of an account, of a client, or of both. */
export async function forgetConsents(
  store: Pick<Store, 'artifacts'>,
  { accountId, client }: { readonly accountId?: string | undefined; readonly client?: string | undefined },
): Promise<void> {
  if (accountId !== undefined && client !== undefined) return forgetConsent(store, accountId, client)
  const consents = store.artifacts(MODEL)
  const listed =
    accountId === undefined
      ? await collect(listArtifacts(store, MODEL))
      : await consents.listByAccount(accountId)
  for (const { idHash, payload } of listed)
    if (client === undefined || payload['clientId'] === client) await consents.destroyByHash(idHash)
}

function keyOf(accountId: string, clientId: string): string {
  return JSON.stringify([accountId, clientId])
}

function containsAll(stored: unknown, wanted: readonly string[]): boolean {
  return Array.isArray(stored) && wanted.every((one) => stored.includes(one))
}

const LOOPBACK_PORT = /^(http:\/\/(?:127\.0\.0\.1|\[::1\]|localhost)):\d+(?=\/)/

/** Removes the port of a loopback address, because an app can use another port each time. RFC 8252 section 7.3. */
function withoutLoopbackPort(redirectUri: string): string {
  return redirectUri.replace(LOOPBACK_PORT, '$1')
}
