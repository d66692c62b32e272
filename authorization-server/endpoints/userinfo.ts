import type { IncomingMessage } from 'node:http'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { formatChallenge } from '../../oauth/challenge.ts'
import { protectedResourceMetadataUrl } from '../../oauth/metadata.ts'
import { refuseToken } from '../../oauth/refuse-token.ts'
import type { Account } from '../accounts/accounts.ts'
import type { TokenOwner } from '../engine/engine.ts'
import { invalidRequest, type OAuthRefusal, sendRefusal } from './oauth-refusal.ts'

/**
 * What userinfo needs. `findTokenOwner` gives undefined for a token that is not good; `count` is told `ok` or the
 * error code.
 */
export type UserinfoOptions = {
  readonly issuer: string
  readonly findTokenOwner: (accessToken: string) => Promise<TokenOwner | undefined>
  readonly findAccount: (id: string) => Promise<Account | undefined>
  readonly count: (result: string) => void
}

/**
 * Answers `GET /api/oauth/userinfo` with the claims that the token's scopes allow.
 * Source: OpenID Connect Core 1.0 section 5.3, RFC 6750, seed-interface section 4.
 * Ours because the engine's own refuses every token that has an audience, and ours always have one.
 */
export function userinfoHandler(options: UserinfoOptions) {
  const refuse = (reply: FastifyReply, refusal: OAuthRefusal) => {
    options.count(refusal.error)
    return sendRefusal(reply, refusal)
  }
  return async (request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> => {
    const token = readBearer(request.raw)
    if (token === 'absent') return refuse(reply, noToken(options.issuer))
    if (token === 'twice') return refuse(reply, invalidRequest('Send one Authorization header.'))
    const owner = token === 'malformed' ? undefined : await options.findTokenOwner(token.value)
    if (owner === undefined) return refuse(reply, invalidToken(options.issuer))
    if (!owner.scopes.includes('openid')) return refuse(reply, openidMissing(options.issuer))
    const account = await options.findAccount(owner.accountId)
    if (account === undefined) return refuse(reply, invalidToken(options.issuer))
    options.count('ok')
    return reply
      .headers({ 'cache-control': 'no-store' })
      .type('application/json; charset=utf-8')
      .send(JSON.stringify(claimsFor(account, owner.scopes)))
  }
}

/** RFC 6750 section 2.1: `b64token`; the scheme in any case. */
function readBearer(request: IncomingMessage): 'absent' | 'twice' | 'malformed' | { readonly value: string } {
  const values = request.headersDistinct['authorization'] ?? []
  if (values.length > 1) return 'twice'
  const [value] = values
  if (value === undefined) return 'absent'
  const token = /^bearer +([A-Za-z0-9\-._~+/]+=*)$/i.exec(value)?.[1]
  return token === undefined ? 'malformed' : { value: token }
}

function claimsFor(account: Account, scopes: readonly string[]): Record<string, string> {
  return {
    sub: account.id,
    ...(scopes.includes('profile') ? { name: account.name, preferred_username: account.username } : {}),
    ...(scopes.includes('email') && account.email !== undefined ? { email: account.email } : {}),
  }
}

/** RFC 6750 section 3.1: no error code when no credentials were sent. */
function noToken(issuer: string): OAuthRefusal {
  return {
    status: 401,
    error: 'unauthorized',
    description: 'Send an access token: Authorization: Bearer <ACCESS_TOKEN>.',
    challenge: formatChallenge({ resourceMetadata: protectedResourceMetadataUrl(issuer) }),
  }
}

function invalidToken(issuer: string): OAuthRefusal {
  const description = 'The access token is malformed, expired, revoked or not for this API. Refresh it.'
  return refuseToken('invalid_token', description, { resourceMetadata: protectedResourceMetadataUrl(issuer) })
}

function openidMissing(issuer: string): OAuthRefusal {
  return refuseToken('insufficient_scope', 'The access token lacks the scope openid.', {
    scope: 'openid',
    resourceMetadata: protectedResourceMetadataUrl(issuer),
  })
}
