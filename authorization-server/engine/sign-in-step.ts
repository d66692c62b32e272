import { interactionPolicy } from 'oidc-provider'

/**
 * Adds a check to the sign-in step: a session whose `acr` is not in `acr_values` needs a new sign-in, once for each
 * authorization (RFC 9470 section 5). The OpenID provider decides the class of the new sign-in.
 * @param hasProviders false: all sign-ins have the same class, so the check is not added. Default: false.
 */
export function withClassCheck(
  steps: interactionPolicy.DefaultPolicy,
  hasProviders = false,
): interactionPolicy.DefaultPolicy {
  if (!hasProviders) return steps
  const check = new interactionPolicy.Check(
    'acr_values',
    'The request requires a sign-in of another class.',
    'login_required',
    ({ oidc }) => {
      const { acr_values: accepted } = oidc.params ?? {}
      if (typeof accepted !== 'string' || accepted.split(' ').includes(oidc.acr)) return false
      const { lastSubmission } = oidc.entities.Interaction ?? {}
      return oidc.result?.login === undefined && lastSubmission?.login === undefined
    },
  )
  steps.get('login')?.checks.add(check)
  return steps
}
