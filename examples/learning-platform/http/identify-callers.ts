import type { FastifyInstance } from 'fastify'
import type { Asker } from '../families/family.ts'
import { readCaller } from './caller.ts'
import type { Problem } from './problem.ts'
import { sendProblem } from './send-problem.ts'
import { type AssertionVerifier, createAssertionVerifier } from './verify-assertion.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** Who asks; undefined: the public. */
    caller: Asker | undefined
  }
}

/** The gateway whose assertions are believed. */
export type Gateway = {
  /** Its JWK Set. */
  readonly keysUrl: URL
  /** Its public address. */
  readonly issuer: string
  /**
   * Whom its assertions are for: this service's name among the gateway's upstreams, and those of services that are trusted
   * to pass on what they got.
   */
  readonly audiences: readonly string[]
}

/**
 * Finds out who asks, before anything else looks at a request. With a gateway only what it has signed counts; a request
 * that claims an identity without that is refused. Without one the plain headers are believed.
 */
export function identifyCallers(app: FastifyInstance, gateway: Gateway | undefined): void {
  const verify = gateway === undefined ? undefined : createAssertionVerifier(gateway)
  app.decorateRequest('caller', undefined)
  app.addHook('onRequest', async (request, reply) => {
    const claimed = readCaller(request.headers)
    if (verify === undefined) {
      request.caller = claimed
      return undefined
    }
    const proven = await prove(verify, request.headers['x-auth-assertion'], claimed)
    if ('refused' in proven) return sendProblem(reply, proven.refused)
    request.caller = proven.caller
    return undefined
  })
}

async function prove(
  verify: AssertionVerifier,
  assertion: string | readonly string[] | undefined,
  claimed: Asker | undefined,
): Promise<{ readonly caller: Asker | undefined } | { readonly refused: Problem }> {
  if (typeof assertion === 'string') return verify(assertion)
  if (claimed === undefined) return { caller: undefined }
  return {
    refused: {
      code: 'invalid_assertion',
      description: 'Who calls is not proven: x-auth-assertion is missing.',
    },
  }
}
