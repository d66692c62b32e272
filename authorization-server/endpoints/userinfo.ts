import type { IncomingMessage } from 'node:http'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { formatChallenge } from '../../oauth/challenge.ts'
import { ENDPOINTS } from '../../oauth/endpoints.ts'
import { protectedResourceMetadataUrl } from '../../oauth/metadata.ts'
import { rejectToken } from '../../oauth/reject-token.ts'
import { type Account, standardClaims } from '../accounts/accounts.ts'
import type { Engine, TokenOwner } from '../engine/engine.ts'
import { recordOutcome } from '../observe/access-log.ts'
import { USERINFO_ENDPOINT } from './endpoint-table.ts'
import { invalidRequest, type OAuthErrorResponse, sendErrorResponse } from './oauth-error-response.ts'

/**
 * Options for `mountUserinfo()`. `findTokenOwner` returns undefined for a token that is not valid. `count` receives
 * `ok` or the error code.
 */
export type UserinfoOptions = {
  readonly issuer: string
  readonly findTokenOwner: (accessToken: string) => Promise<TokenOwner | undefined>
  readonly verifyProof: Engine['verifyProof']
  readonly findAccount: (id: string) => Promise<Account | undefined>
  readonly count: (result: string) => void
}

/**
 * Maximum size of the body of a POST. The server ignores the body, even if the body contains a token. RFC 6750 section
 * 2.2 permits this behavior.
 */
const BODY_LIMIT_BYTES = 16_384

export function mountUserinfo(app: FastifyInstance, options: UserinfoOptions): void {
  const { path } = USERINFO_ENDPOINT
  const handler = userinfoHandler(options)
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('*', { parseAs: 'buffer', bodyLimit: BODY_LIMIT_BYTES }, (_request, _body, done) =>
    done(null),
  )
  app.get(path, handler)
  app.post(path, handler)
}

/**
 * Creates the handler of `/api/oauth/userinfo`, which returns the claims that the scopes of the token allow.
 * The engine also has a handler, but rejects every token with an audience. All tokens of this server have an audience.
 * Source: OpenID Connect Core 1.0 section 5.3, RFC 6750, RFC 9449 section 7, docs/interface.md section 4.8.
 */
function userinfoHandler(options: UserinfoOptions) {
  const challenge = { resourceMetadata: protectedResourceMetadataUrl(options.issuer) }
  const reject = (reply: FastifyReply, errorResponse: OAuthErrorResponse) => {
    options.count(errorResponse.error)
    return sendErrorResponse(reply, errorResponse)
  }
  return async (request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> => {
    const token = readCredentials(request.raw)
    if (token === 'absent') return reject(reply, noToken(options.issuer))
    if (token === 'twice') return reject(reply, invalidRequest('Send one Authorization header.'))
    const scheme = token === 'malformed' ? 'Bearer' : token.scheme
    const owner = token === 'malformed' ? undefined : await options.findTokenOwner(token.value)
    if (owner !== undefined) recordOutcome(request, { clientId: owner.clientId })
    if (owner === undefined || token === 'malformed')
      return reject(reply, invalidToken({ ...challenge, scheme }))
    const possessionFault = await checkPossession(owner, token, request.raw)
    if (possessionFault !== undefined) return reject(reply, possessionFault)
    if (!owner.scopes.includes('openid')) return reject(reply, openidMissing({ ...challenge, scheme }))
    const account = await options.findAccount(owner.accountId)
    if (account === undefined) return reject(reply, invalidToken({ ...challenge, scheme }))
    options.count('ok')
    return reply
      .headers({ 'cache-control': 'no-store' })
      .type('application/json; charset=utf-8')
      .send(JSON.stringify(claimsFor(account, owner.scopes)))
  }

  /** Requires a DPoP proof for a token that is bound to a key, and the Bearer scheme for every other token. */
  async function checkPossession(
    owner: TokenOwner,
    { scheme, value }: Credentials,
    request: IncomingMessage,
  ): Promise<OAuthErrorResponse | undefined> {
    const { keyThumbprint } = owner
    if (scheme === 'Bearer')
      return keyThumbprint === undefined
        ? undefined
        : rejectToken(
            'invalid_token',
            'The access token is bound to a key. Send the token with the scheme DPoP and a proof.',
            {
              ...challenge,
              offersDpop: true,
            },
          )
    if (keyThumbprint === undefined)
      return rejectToken(
        'invalid_token',
        'The access token is not bound to a key. Send the token with the scheme Bearer.',
        {
          ...challenge,
          scheme,
        },
      )
    const [proof = '', ...others] = request.headersDistinct['dpop'] ?? []
    const { method = '' } = request
    const asked = { method, path: ENDPOINTS.userinfo, accessToken: value, keyThumbprint }
    const status = others.length === 0 ? await options.verifyProof(proof, asked) : 'invalid'
    switch (status) {
      case 'valid':
        return undefined
      case 'wrong_key':
        return rejectToken(
          'invalid_token',
          'The access token and the DPoP proof are bound to different keys.',
          {
            ...challenge,
            scheme,
          },
        )
      case 'invalid': {
        const description = 'The DPoP proof is missing, invalid for this request or token, or already used.'
        return rejectToken('invalid_dpop_proof', description, { ...challenge, scheme })
      }
    }
  }
}

type Credentials = { readonly scheme: 'Bearer' | 'DPoP'; readonly value: string }

/** Reads the credentials: scheme in any case, then a `b64token`. RFC 6750 section 2.1. */
function readCredentials(request: IncomingMessage): 'absent' | 'twice' | 'malformed' | Credentials {
  const values = request.headersDistinct['authorization'] ?? []
  if (values.length > 1) return 'twice'
  const [value] = values
  if (value === undefined) return 'absent'
  const [, scheme = '', token] = /^(bearer|dpop) +([A-Za-z0-9\-._~+/]+=*)$/i.exec(value) ?? []
  if (token === undefined) return 'malformed'
  return { scheme: scheme.toLowerCase() === 'dpop' ? 'DPoP' : 'Bearer', value: token }
}

function claimsFor(account: Account, scopes: readonly string[]): Record<string, string | boolean> {
  const { profile, email } = standardClaims(account)
  return {
    sub: account.id,
    ...(scopes.includes('profile') ? profile : {}),
    ...(scopes.includes('email') ? email : {}),
  }
}

/** Returns a challenge without an error code, as RFC 6750 section 3.1 recommends for a request without credentials. */
function noToken(issuer: string): OAuthErrorResponse {
  return {
    status: 401,
    error: 'unauthorized',
    description: 'Send an access token: Authorization: Bearer <ACCESS_TOKEN>.',
    challenge: formatChallenge({ resourceMetadata: protectedResourceMetadataUrl(issuer) }),
  }
}

type ChallengeOptions = { readonly resourceMetadata: string; readonly scheme: 'Bearer' | 'DPoP' }

function invalidToken(challenge: ChallengeOptions): OAuthErrorResponse {
  const description =
    'The access token is malformed, expired, revoked or not for this API. Refresh the token.'
  return rejectToken('invalid_token', description, challenge)
}

function openidMissing(challenge: ChallengeOptions): OAuthErrorResponse {
  return rejectToken('insufficient_scope', 'The access token lacks the scope openid.', {
    scope: 'openid',
    ...challenge,
  })
}
