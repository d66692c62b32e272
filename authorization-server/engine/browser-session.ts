import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Provider } from 'oidc-provider'
import { endSession } from '../store/end-sessions.ts'
import type { Store } from '../store/store.ts'
import { providerRequest } from './provider-request.ts'

export type BrowserSession = {
  readonly accountId: string
  /** Identifies the session in form tokens. Gives no access. */
  readonly uid: string
  /** Time of the sign-in. Unix time. */
  readonly signedInSeconds: number | undefined
}

/** Reads and ends the sign-in session of the browser that sent a request. */
export type BrowserSessions = {
  /** @returns undefined when no person is signed in. */
  read(request: IncomingMessage, response: ServerResponse): Promise<BrowserSession | undefined>
  /** Ends the session. The person must sign in again. Grants and tokens stay valid. */
  end(request: IncomingMessage, response: ServerResponse): Promise<void>
}

export function browserSessions(options: {
  readonly provider: Provider
  readonly issuer: URL
  readonly store: Pick<Store, 'artifacts'>
}): BrowserSessions {
  const { provider, issuer, store } = options
  const load = (request: IncomingMessage, response: ServerResponse) =>
    provider.Session.get(provider.createContext(providerRequest(request, { issuer }), response) as never)
  return {
    read: async (request, response) => {
      const { accountId, uid, loginTs } = await load(request, response)
      return accountId === undefined ? undefined : { accountId, uid, signedInSeconds: loginTs }
    },
    end: async (request, response) => {
      const { accountId, uid } = await load(request, response)
      if (accountId !== undefined) await endSession(store, { accountId, uid })
    },
  }
}
