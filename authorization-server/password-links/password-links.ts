import { randomBytes } from 'node:crypto'
import { ENDPOINTS } from '../../oauth/endpoints.ts'
import { hashId } from '../store/artifact-record.ts'
import type { Store, StoredArtifact } from '../store/store.ts'

/** A person can use the link once to set the password of an account. */
export type PasswordLink = {
  readonly accountId: string
  /** `invitation`: the account had no password when the operator created the link. */
  readonly purpose: 'invitation' | 'reset'
}

export type PasswordLinks = {
  /**
   * Creates a link. Earlier links of the account stop working.
   * @returns the URL, which contains the token. The store has only the hash of the token.
   */
  create(link: PasswordLink, expiresInSeconds: number): Promise<string>
  /** @returns undefined when the token is unknown, expired or used. */
  find(token: string): Promise<PasswordLink | undefined>
  /**
   * Consumes a link.
   * @returns true at most once for each link, over all processes. Returns false for a link that a newer link replaced.
   */
  consume(token: string): Promise<boolean>
  end(accountId: string): Promise<void>
}

const MODEL = 'PasswordLink'
/** This model contains the newest link of each account. */
const NEWEST_MODEL = 'NewestPasswordLink'
const TOKEN_BYTES = 32
const TOKEN = /^[A-Za-z0-9_-]{43}$/

/**
 * Creates the password links. The token is in the query of the URL, because the access log of the gateway contains the
 * path of a request, but not the query.
 */
export function createPasswordLinks(options: {
  readonly store: Pick<Store, 'artifacts'>
  readonly issuer: string
}): PasswordLinks {
  const links = options.store.artifacts(MODEL)
  const newest = options.store.artifacts(NEWEST_MODEL)
  /** Finds a link that no newer link replaced. A server can have consumed the link already. */
  const findNewest = async (token: string): Promise<StoredArtifact | undefined> => {
    const stored = TOKEN.test(token) ? await links.find(token) : undefined
    const current = stored && (await newest.find(String(stored['accountId'])))
    return current?.['link'] === hashId(token) ? stored : undefined
  }
  return {
    create: async ({ accountId, purpose }, expiresInSeconds) => {
      const token = randomBytes(TOKEN_BYTES).toString('base64url')
      await links.upsert(token, { accountId, purpose }, expiresInSeconds)
      // One write replaces the earlier link, so one of several concurrent links remains.
      await newest.upsert(accountId, { accountId, link: hashId(token) }, expiresInSeconds)
      return `${options.issuer}${ENDPOINTS.setPassword}?token=${token}`
    },
    find: async (token) => {
      const stored = await findNewest(token)
      if (stored === undefined || stored['consumed'] !== undefined) return undefined
      return {
        accountId: String(stored['accountId']),
        purpose: stored['purpose'] === 'invitation' ? 'invitation' : 'reset',
      }
    },
    // The operator can create a newer link between find() and consume().
    consume: async (token) =>
      TOKEN.test(token) && (await links.consume(token)) && (await findNewest(token)) !== undefined,
    end: async (accountId) => void (await newest.destroy(accountId)),
  }
}
