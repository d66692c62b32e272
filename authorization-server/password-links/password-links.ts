import { randomBytes } from 'node:crypto'
import { ENDPOINTS } from '../../oauth/endpoints.ts'
import type { Store } from '../store/store.ts'

/** A link with which a person sets the password of an account once. */
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
   * @returns true exactly once for each link, over all processes.
   */
  consume(token: string): Promise<boolean>
}

const MODEL = 'PasswordLink'
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
  return {
    create: async ({ accountId, purpose }, expiresInSeconds) => {
      const token = randomBytes(TOKEN_BYTES).toString('base64url')
      for (const { idHash } of await links.listByAccount(accountId)) await links.destroyByHash(idHash)
      await links.upsert(token, { accountId, purpose }, expiresInSeconds)
      return `${options.issuer}${ENDPOINTS.setPassword}?token=${token}`
    },
    find: async (token) => {
      const stored = TOKEN.test(token) ? await links.find(token) : undefined
      if (stored === undefined || stored['consumed'] !== undefined) return undefined
      return {
        accountId: String(stored['accountId']),
        purpose: stored['purpose'] === 'invitation' ? 'invitation' : 'reset',
      }
    },
    consume: async (token) => TOKEN.test(token) && links.consume(token),
  }
}
