import { decodeJwt } from 'jose'
import { errors, interactionPolicy, type KoaContextWithOIDC } from 'oidc-provider'

export type SignInStepOptions = {
  /** True if people can sign in through OpenID providers. The `acr` of sessions can then differ. Default: false. */
  readonly hasProviders?: boolean
  /** The second factor of local accounts. If undefined, the password is sufficient. */
  readonly secondFactor?: { readonly acr: string; readonly required: boolean } | undefined
}

/** Data of an account that determine its sign-in. */
export type SignInAccount = {
  /** Name of the OpenID provider. Undefined for a local account. */
  readonly provider?: string
  readonly hasSecondFactor?: boolean
}

const ACR_VALUES = 'acr_values'
const SECOND_FACTOR = 'second_factor'

/** Returns whether a sign-in of another class is sufficient for a check. Other checks require the password. */
export function isClassReason(reason: string): boolean {
  return reason === ACR_VALUES || reason === SECOND_FACTOR
}

/**
 * Adds checks to the sign-in step:
 * - After the sign-in of another person than the person of `id_token_hint`, the client gets the error `login_required`
 *   (OpenID Connect Core 1.0 section 3.1.2.2).
 * - A session whose `acr` is not in `acr_values` needs a new sign-in, once for each authorization (RFC 9470 section 5).
 *   The OpenID provider decides the class of the new sign-in. If this class is not in `acr_values` either, or if no
 *   sign-in of the person can reach such a class, the client gets the error `unmet_authentication_requirements`.
 * - If a second factor is required, a session of a local account without this factor needs a new sign-in.
 */
export function withClassChecks(
  steps: interactionPolicy.DefaultPolicy,
  options: SignInStepOptions,
): interactionPolicy.DefaultPolicy {
  const { secondFactor } = options
  const checks = steps.get('login')?.checks
  const withoutClass = [...(checks ?? [])]
  /** Returns whether the request needs a new sign-in for a reason other than its class. */
  const needsSignIn = async (ctx: KoaContextWithOIDC): Promise<boolean> =>
    (await Promise.all(withoutClass.map(({ check }) => check(ctx)))).some(Boolean)
  checks?.add(
    new interactionPolicy.Check(
      'other_person',
      'Another person signed in.',
      'login_required',
      // The engine checks the hint only before the sign-in. The request has passed the validation of the hint.
      ({ oidc }) => {
        const hint = oidc.params?.['id_token_hint']
        if (typeof hint !== 'string' || !hasSignedIn(oidc)) return false
        if (decodeJwt(hint).sub === oidc.session?.accountId) return false
        throw new errors.LoginRequired('another person than the person of id_token_hint signed in')
      },
    ),
  )
  checks?.add(
    new interactionPolicy.Check(
      ACR_VALUES,
      'The request requires a sign-in of another class.',
      'login_required',
      async (ctx) => {
        const { oidc } = ctx
        const accepted = oidc.params?.['acr_values']
        if (typeof accepted !== 'string' || accepted.split(' ').includes(oidc.acr)) return false
        const account = (await needsSignIn(ctx)) ? undefined : signInAccount(oidc)
        if (hasSignedIn(oidc) || !canReach(account, accepted.split(' '), options))
          throw new errors.UnmetAuthenticationRequirements('the sign-in does not have a class of acr_values')
        return true
      },
    ),
  )
  if (secondFactor?.required === true)
    checks?.add(
      new interactionPolicy.Check(
        SECOND_FACTOR,
        'The sign-in requires a second factor.',
        'login_required',
        ({ oidc }) => {
          const account = signInAccount(oidc)
          return account?.provider === undefined && account !== undefined && oidc.acr !== secondFactor.acr
        },
      ),
    )
  return steps
}

type OidcContext = KoaContextWithOIDC['oidc']

function hasSignedIn({ entities, result }: OidcContext): boolean {
  return result?.login !== undefined || entities.Interaction?.lastSubmission?.login !== undefined
}

/**
 * Returns whether a new sign-in can have an accepted class, through a provider or with a second factor.
 * @param account Undefined if the person can sign in with any account.
 */
function canReach(
  account: SignInAccount | undefined,
  accepted: readonly string[],
  { hasProviders = false, secondFactor }: SignInStepOptions,
): boolean {
  if (hasProviders) return true
  if (secondFactor === undefined || !accepted.includes(secondFactor.acr)) return false
  return account === undefined || secondFactor.required || account.hasSecondFactor === true
}

/** Returns undefined if no person is signed in. */
function signInAccount({ account }: OidcContext): SignInAccount | undefined {
  return account?.['tokenClaims'] as SignInAccount | undefined
}
