import type { IncomingMessage, ServerResponse } from 'node:http'
import { errors, type Provider, type Interaction as ProviderInteraction } from 'oidc-provider'
import { ENDPOINTS } from '../../oauth/endpoints.ts'
import type { ScopeCatalogue } from '../../oauth/scope.ts'
import { ClientDocumentError } from '../client-documents/client-document-error.ts'
import type { ClientDocuments } from '../client-documents/client-documents.ts'
import type { RememberedConsents } from '../consent/remembered-consents.ts'
import { endSession, readEndMark } from '../store/end-sessions.ts'
import type { Store } from '../store/store.ts'
import { findClient } from './document-clients.ts'
import { requestedAccess, saveGrant } from './grants.ts'
import { type Interaction, InteractionError, type Interactions } from './interactions.ts'
import { providerRequest } from './provider-request.ts'
import { isClassReason } from './sign-in-step.ts'

export type ProviderInteractionsOptions = {
  readonly provider: Provider
  readonly issuer: URL
  readonly catalogue: ScopeCatalogue
  readonly integrationIds: ReadonlySet<string>
  readonly consents: Pick<RememberedConsents, 'remember'>
  readonly store: Pick<Store, 'artifacts'>
  readonly documents: ClientDocuments | undefined
  /** Removes the expiry of the client, or stores a copy of its document. See `keepClient()` in grants.ts. */
  readonly keepClient: (clientId: string) => Promise<void>
}

export function providerInteractions(options: ProviderInteractionsOptions): Interactions {
  const { provider, issuer } = options

  const load = (request: IncomingMessage, response: ServerResponse): Promise<ProviderInteraction> =>
    orExpired(async () => {
      const details = await provider.interactionDetails(providerRequest(request, { issuer }), response)
      if (details.uid !== uidInPath(request))
        throw new InteractionError(
          'ERR_INTERACTION_OTHER_BROWSER',
          'the URL and the cookie belong to different interactions',
        )
      return details
    })
  const finish = (request: IncomingMessage, response: ServerResponse, result: object): Promise<string> =>
    orExpired(() => provider.interactionResult(providerRequest(request, { issuer }), response, { ...result }))

  return {
    read: async (request, response) => {
      const details = await load(request, response)
      const stepUp = await findStepUp(details, request, response, options)
      return { ...(await describe(details, options)), stepUp }
    },

    signedIn: async (request, response, accountId, { acr, amr, authTimeSeconds, endMark }) => {
      const details = await load(request, response)
      const signedOut = await leaveSessionOfOthers(details, accountId, request, response, options)
      const login = {
        accountId,
        endMark,
        ...(acr === undefined ? {} : { acr }),
        ...(amr === undefined ? {} : { amr: [...amr] }),
        ...(authTimeSeconds === undefined ? {} : { ts: authTimeSeconds }),
      }
      return { address: await finish(request, response, { login }), signedOut }
    },

    consented: async (request, response, grantedScopes) => {
      const details = await load(request, response)
      if (details.prompt.name !== 'consent') throw stepError(`the interaction expects ${details.prompt.name}`)
      const interaction = await describe(details, options)
      const { accountId } = interaction
      if (accountId === undefined) throw stepError('consent requires a signed-in person')
      const granted = grantable(grantedScopes, interaction)
      const access = { ...interaction, accountId, clientId: interaction.client.id }
      await options.keepClient(access.clientId).catch(rejectDocument)
      // The removal of an app forgets the consent first, and then lists the grants. In the opposite order here, a
      // removal between the two writes would leave the consent without its grant.
      await options.consents.remember({ ...access, scopes: granted })
      const { jti: grantId } = await saveGrant(access, granted, provider)
      try {
        return await finish(request, response, { consent: { grantId } })
      } catch (error) {
        // The session of the person ended. The end may have listed the grants before this grant existed.
        await options.store.artifacts('Grant').revokeByGrantId(grantId)
        throw error
      }
    },

    denied: async (request, response) => {
      await load(request, response)
      return finish(request, response, {
        error: 'access_denied',
        error_description: 'The person denied access.',
      })
    },
  }
}

async function describe(
  details: ProviderInteraction,
  options: ProviderInteractionsOptions,
): Promise<Interaction> {
  const clientId = String(details.params['client_id'])
  const { redirect_uri: redirectUri, login_hint: loginHint } = details.params
  const { prompt, max_age: maxAge, acr_values: acrValues, ui_locales: uiLocales } = details.params
  return {
    uid: details.uid,
    prompt: details.prompt.name === 'consent' ? 'consent' : 'sign-in',
    client: await describeClient(clientId, options),
    redirectUri: String(redirectUri),
    ...requestedAccess(details.params, options),
    accountId: details.session?.accountId,
    loginHint: text(loginHint),
    requested: {
      prompt: text(prompt)?.split(' ') ?? [],
      maxAgeSeconds: maxAge === undefined ? undefined : Number(maxAge),
      acrValues: text(acrValues),
      uiLocales: text(uiLocales),
    },
  }
}

/** Returns the session of the browser, if the interaction needs only a sign-in of another class. */
async function findStepUp(
  { params, prompt, session }: ProviderInteraction,
  request: IncomingMessage,
  response: ServerResponse,
  options: ProviderInteractionsOptions,
): Promise<Interaction['stepUp']> {
  if (prompt.name !== 'login' || !prompt.reasons.every(isClassReason)) return undefined
  if (session?.accountId === undefined) return undefined
  const endMark = await readEndMark(options.store, session.accountId)
  const found = await loadSession(request, response, options)
  const { accountId, loginTs, uid } = found
  if (accountId === undefined || accountId !== session.accountId || uid !== session.uid) return undefined
  // The engine does not check the age again after a sign-in.
  const maxAge = params['max_age']
  return maxAge !== undefined && found.past(Number(maxAge))
    ? undefined
    : { accountId, signedInSeconds: loginTs, endMark }
}

function loadSession(
  request: IncomingMessage,
  response: ServerResponse,
  { provider, issuer }: ProviderInteractionsOptions,
) {
  return provider.Session.get(provider.createContext(providerRequest(request, { issuer }), response) as never)
}

async function describeClient(
  id: string,
  { documents, integrationIds, provider }: ProviderInteractionsOptions,
): Promise<Interaction['client']> {
  const verified = integrationIds.has(id)
  if (!verified && documents?.accepts(id) === true) {
    const document = await documents.find(id).catch(rejectDocument)
    return { id, name: document.client_name, verified, documentHost: new URL(id).host }
  }
  const client = await findClient(provider, id)
  if (client === undefined) throw expired(new Error('the client no longer exists'))
  return { id, name: client.clientName, verified, documentHost: undefined }
}

/**
 * Returns the scopes to grant. Adds `openid` if the client requested it, because the consent page does not show
 * `openid`.
 * @throws {InteractionError} ERR_INTERACTION_STEP for a scope that the client did not request.
 */
function grantable(grantedScopes: readonly string[], interaction: Interaction): readonly string[] {
  const asked = new Set(interaction.scopes)
  const surplus = grantedScopes.filter((scope) => !asked.has(scope))
  if (surplus.length > 0) throw stepError(`the client did not request ${surplus.join(' ')}`)
  const granted = new Set(grantedScopes)
  return interaction.scopes.filter((scope) => granted.has(scope) || scope === 'openid')
}

/**
 * Ends the session of another account in this browser. Otherwise the engine would derive the next session from that
 * session. The session may be older than this authorization, or may have started later in another tab.
 * @returns the account that was signed out.
 */
async function leaveSessionOfOthers(
  details: ProviderInteraction,
  accountId: string,
  request: IncomingMessage,
  response: ServerResponse,
  options: ProviderInteractionsOptions,
): Promise<string | undefined> {
  const session = await loadSession(request, response, options)
  const other = [session.accountId, details.session?.accountId].find(
    (present) => present !== undefined && present !== accountId,
  )
  if (other === undefined) return undefined
  const { accountId: present, uid } = session
  if (present === undefined) await session.destroy()
  else await endSession(options.store, { accountId: present, uid })
  delete (details as { session?: unknown }).session
  await details.persist()
  return other
}

function text(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined
}

function stepError(message: string): InteractionError {
  return new InteractionError('ERR_INTERACTION_STEP', message)
}

function rejectDocument(error: unknown): never {
  if (!(error instanceof ClientDocumentError)) throw error
  throw new InteractionError('ERR_INTERACTION_CLIENT_DOCUMENT', error.message, { cause: error })
}

function expired(cause: unknown): InteractionError {
  return new InteractionError('ERR_INTERACTION_EXPIRED', 'the interaction expired or is already complete', {
    cause,
  })
}

async function orExpired<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (error instanceof errors.SessionNotFound) throw expired(error)
    throw error
  }
}

function uidInPath(request: IncomingMessage): string | undefined {
  const path = (request.url ?? '').split('?', 1)[0] ?? ''
  return path.slice(ENDPOINTS.interaction.length + 1).split('/', 1)[0]
}
