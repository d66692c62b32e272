import { BootError } from '../../platform/diagnostics/boot-error.ts'
import type { Engine } from './engine.ts'

/**
 * An engine. `replaceAtSeconds` is the Unix time at which a new engine must replace this engine. Undefined: no
 * replacement is necessary.
 */
export type BuiltEngine = { readonly engine: Engine; readonly replaceAtSeconds: number | undefined }

/**
 * Creates an engine that can be replaced while requests are open. The same engine handles a request from start to end.
 * The keys of an engine cannot change, so new keys need a new engine over the same store.
 * @param options.build builds an engine with the current keys.
 */
export function createReplaceableEngine(options: {
  readonly build: () => BuiltEngine
  readonly nowSeconds: () => number
}): Engine & { replace(): void } {
  let built = options.build()

  /**
   * Returns the engine for the current time. The first call at or after the time of the replacement builds the new
   * engine. All replicas therefore use the new keys from the same second.
   */
  function current(): Engine {
    const { replaceAtSeconds } = built
    if (replaceAtSeconds !== undefined && options.nowSeconds() >= replaceAtSeconds) built = options.build()
    return built.engine
  }

  return {
    handle: (...request) => current().handle(...request),
    interactions: {
      read: (...request) => current().interactions.read(...request),
      signedIn: (...request) => current().interactions.signedIn(...request),
      consented: (...request) => current().interactions.consented(...request),
      denied: (...request) => current().interactions.denied(...request),
    },
    sessions: {
      read: (...request) => current().sessions.read(...request),
      end: (...request) => current().sessions.end(...request),
    },
    readIdToken: (idToken) => current().readIdToken(idToken),
    findClient: (clientId) => current().findClient(clientId),
    findGrantedResources: (...query) => current().findGrantedResources(...query),
    findTokenOwner: (accessToken) => current().findTokenOwner(accessToken),
    verifyProof: (...proof) => current().verifyProof(...proof),
    /** @throws {BootError} ERR_SIGNING_KEYS. The earlier engine stays in use. */
    replace() {
      try {
        built = options.build()
      } catch (cause) {
        throw new BootError('ERR_SIGNING_KEYS', 'the server cannot use a key of the set', {
          cause,
          exitCode: 3,
        })
      }
    },
  }
}
