import { interactionPolicy, type KoaContextWithOIDC } from 'oidc-provider'
import type { ScopeCatalogue } from '../../oauth/scope.ts'
import type { RememberedConsents } from '../consent/remembered-consents.ts'
import { requestedAccess, saveGrant } from './grants.ts'

/** The reason for a grant without the consent page. */
export type ConsentReason = 'trusted' | 'remembered'

export type ConsentStepOptions = {
  readonly catalogue: ScopeCatalogue
  readonly consents: Pick<RememberedConsents, 'covers'>
  /** Integrations of the operator whose authorizations need no consent. */
  readonly trustedIds: ReadonlySet<string>
  /** Stores a copy of the client document. Does nothing for a client without a document. */
  readonly keepDocument: (clientId: string) => Promise<void>
  /** Called after the server created a grant without the consent page. */
  readonly onGranted: (
    ctx: KoaContextWithOIDC,
    consent: {
      readonly clientId: string
      readonly accountId: string
      readonly scopes: readonly string[]
      readonly reason: ConsentReason
    },
  ) => void
}

/**
 * Returns the steps of an authorization: the sign-in, then the consent. Every authorization shows the consent page,
 * with two exceptions: a trusted integration, and a remembered consent that covers the request. In these cases, the
 * server creates the grant itself. With `prompt=consent`, the page always appears.
 */
export function authorizationSteps(options: ConsentStepOptions): interactionPolicy.DefaultPolicy {
  const steps = interactionPolicy.base()
  const decided = new WeakSet<object>()
  const grantWithoutPage = new interactionPolicy.Prompt(
    { name: 'consent_without_page' },
    new interactionPolicy.Check('consent_without_page', 'creates the grant', async (ctx) => {
      if (await createKnownGrant(ctx, options)) decided.add(ctx.oidc)
      return interactionPolicy.Check.NO_NEED_TO_PROMPT
    }),
  )
  steps.add(grantWithoutPage, steps.indexOf(consentOf(steps)))
  // The check of the engine shows the page each time only for native clients.
  consentOf(steps).checks.remove('native_client_prompt')
  consentOf(steps).checks.add(
    new interactionPolicy.Check(
      'no_consent',
      'the person must allow the access',
      'interaction_required',
      ({ oidc }) => oidc.result?.consent === undefined && !decided.has(oidc),
    ),
  )
  return steps
}

function consentOf(steps: interactionPolicy.DefaultPolicy): interactionPolicy.Prompt {
  const consent = steps.get('consent')
  if (consent === undefined) throw new TypeError('the engine has no consent step')
  return consent
}

/** @returns true when this call created a grant. */
async function createKnownGrant(ctx: KoaContextWithOIDC, options: ConsentStepOptions): Promise<boolean> {
  const { oidc } = ctx
  const { account, client, params = {}, provider, session } = oidc
  if (account === undefined || client === undefined || session === undefined) return false
  if (oidc.result?.consent !== undefined || oidc.prompts.has('consent')) return false
  const request = {
    ...requestedAccess(params, { catalogue: options.catalogue, provider }),
    accountId: account.accountId,
    clientId: client.clientId,
  }
  const { accountId, clientId, scopes } = request
  const redirectUri = String(params['redirect_uri'])
  const isTrusted = options.trustedIds.has(clientId)
  if (scopes.length === 0) return false
  if (!isTrusted && !(await options.consents.covers({ ...request, redirectUri }))) return false
  await options.keepDocument(clientId)
  const grant = await saveGrant(request, scopes, provider)
  // A removal of the app may have forgotten the consent, and listed the grants before this grant existed.
  if (!isTrusted && !(await options.consents.covers({ ...request, redirectUri }))) {
    await grant.destroy()
    return false
  }
  const sessionOfClient = session as unknown as SessionOfClient
  sessionOfClient.ensureClientContainer(clientId)
  sessionOfClient.grantIdFor(clientId, grant.jti)
  oidc.entity('Grant', grant)
  options.onGranted(ctx, { accountId, clientId, scopes, reason: isTrusted ? 'trusted' : 'remembered' })
  return true
}

/**
 * Methods of the engine's session that its types omit. The engine calls these methods for a grant of the consent page.
 */
type SessionOfClient = {
  ensureClientContainer(clientId: string): void
  grantIdFor(clientId: string, grantId: string): void
}
