import type { FastifyInstance } from 'fastify'
import type { Caller } from '../families/family.ts'
import { readCaller } from './caller.ts'
import type { Problem } from './problem.ts'
import { sendProblem } from './send-problem.ts'
import { type AssertionVerifier, createAssertionVerifier } from './verify-assertion.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** Undefined for an anonymous caller. */
    caller: Caller | undefined
  }
}

/** This service trusts the assertions of the gateway. */
export type Gateway = {
  /** URL of the gateway's JWK Set. */
  readonly keysUrl: URL
  readonly issuer: string
  /**
   * Accepted audiences of assertions: the name of this service among the upstreams of the gateway, and the names of
   * trusted services that forward their assertion.
   */
  readonly audiences: readonly string[]
}

/**
 * Identifies the caller before other hooks handle a request. With a gateway, the service accepts only signed
 * assertions, and rejects a request that has identity headers but no assertion. Without a gateway, the service trusts
 * the plain headers.
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
    if ('rejected' in proven) return sendProblem(reply, proven.rejected)
    request.caller = proven.caller
    return undefined
  })
}

async function prove(
  verify: AssertionVerifier,
  assertion: string | readonly string[] | undefined,
  claimed: Caller | undefined,
): Promise<{ readonly caller: Caller | undefined } | { readonly rejected: Problem }> {
  if (typeof assertion === 'string') return verify(assertion)
  if (claimed === undefined) return { caller: undefined }
  return {
    rejected: {
      code: 'invalid_assertion',
      description: 'The x-auth-assertion header is missing.',
    },
  }
}
