import type { Provider } from 'oidc-provider'
import ServerChallenge from 'oidc-provider/lib/helpers/challenge.js'
import internalsOf from 'oidc-provider/lib/helpers/weak_cache.js'

/**
 * Makes the engine accept the nonces of all secrets in DPoP proofs. The first secret creates nonces.
 * The configuration of the engine supports only one secret. Replicas that read a changed file of keys at different times
 * would then reject the nonces of each other.
 * @param secrets at least one secret of 32 bytes, newest first.
 * @throws {TypeError} when the engine has no nonces, for example because a new version changed its internals.
 */
export function acceptNonces(provider: Provider, secrets: readonly Buffer[]): void {
  const internals = internalsOf(provider)
  const [newest, ...older] = secrets.map((secret) => new ServerChallenge(secret, 'DPoP'))
  if (newest === undefined || internals?.DPoPNonces === undefined)
    throw new TypeError('the engine has no nonces for DPoP proofs')
  internals.DPoPNonces = {
    nextChallenge: () => newest.nextChallenge(),
    checkChallenge: (nonce) =>
      newest.checkChallenge(nonce) || older.some((challenge) => challenge.checkChallenge(nonce)),
  }
}
