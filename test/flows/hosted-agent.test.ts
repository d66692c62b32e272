import * as openid from 'openid-client'
import t from 'tap'
import { sendDocument, startAgentHost } from '../fixtures/a-document-host.ts'
import { startGatewayUnderTest } from '../fixtures/a-gateway.ts'
import { beforeAuthorizationServer } from '../fixtures/before-authorization-server.ts'
import { openBrowser } from '../fixtures/open-browser.ts'
import { quietPort } from '../fixtures/quiet-port.ts'
import { signIn } from '../fixtures/sign-in.ts'
import { startServer } from '../fixtures/start-authorization-server.ts'

for (const format of ['opaque', 'jwt'] as const)
  t.test(
    `A hosted agent with a Client ID Metadata Document signs in and calls a protected route: ${format} tokens`,
    async (t) => {
      const [port, serverPort] = [await quietPort(), await quietPort()]
      const base = `http://127.0.0.1:${port}`
      const { host, network, domains, registration } = await startAgentHost(t)
      const server = await startServer(
        t,
        {
          issuer: base,
          listen: { host: '127.0.0.1', port: serverPort },
          accessTokens: { format, algorithm: 'ES256', resources: new Map() },
          registration,
        },
        { documentNetwork: network },
      )
      const serverUrl = `http://127.0.0.1:${serverPort}`
      const { upstream } = await startGatewayUnderTest(t, {
        change: (config) =>
          beforeAuthorizationServer(config, { base, port, serverUrl, gatewaySecret: server.gatewaySecret }),
      })
      const clientId = `https://${domains[0]}/oauth/client.json`
      const redirectUri = `https://${domains[0]}/callback`
      host.respond(
        sendDocument({
          client_id: clientId,
          client_name: 'Hosted agent',
          redirect_uris: [redirectUri],
          grant_types: ['authorization_code', 'refresh_token'],
          response_types: ['code'],
          token_endpoint_auth_method: 'none',
        }),
      )
      const call = (token?: string) =>
        fetch(
          `${base}/api/challenged`,
          token === undefined ? {} : { headers: { authorization: `Bearer ${token}` } },
        )

      const challenge = await call()
      t.equal(challenge.status, 401)
      t.match(challenge.headers.get('www-authenticate'), 'scope="orders:read"')
      const agent = await openid.discovery(new URL(base), clientId, undefined, openid.None(), {
        algorithm: 'oauth2',
        execute: [openid.allowInsecureRequests],
      })
      t.equal(agent.serverMetadata()['client_id_metadata_document_supported'], true)
      const [state, verifier] = [openid.randomState(), openid.randomPKCECodeVerifier()]
      const authorizeUrl = openid.buildAuthorizationUrl(agent, {
        redirect_uri: redirectUri,
        scope: 'orders:read',
        state,
        code_challenge: await openid.calculatePKCECodeChallenge(verifier),
        code_challenge_method: 'S256',
      })
      const redirect = await signIn(openBrowser(base), authorizeUrl)
      t.equal(redirect.origin + redirect.pathname, redirectUri)
      const tokens = await openid.authorizationCodeGrant(agent, redirect, {
        pkceCodeVerifier: verifier,
        expectedState: state,
      })
      t.equal(tokens.scope, 'orders:read')
      t.equal((await call(tokens.access_token)).status, 200)
      t.same(upstream.seen('x-auth-client-id'), [clientId])

      const refreshed = await openid.refreshTokenGrant(agent, tokens.refresh_token ?? '')
      t.equal((await call(refreshed.access_token)).status, 200)
      await openid.tokenRevocation(agent, refreshed.refresh_token ?? '')
      const reuse = await openid
        .refreshTokenGrant(agent, refreshed.refresh_token ?? '')
        .catch((error: unknown) => error)
      t.match(reuse, { status: 400, error: 'invalid_grant' })
      t.same(host.requests, ['/oauth/client.json'], 'the server fetched the document once')
    },
  )
