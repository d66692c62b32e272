import type { ErrorExplanation } from './error-guide.ts'

const NEW_AUTHORIZATION = 'Start a new authorization from the app.'
const LOG_OF_SERVER = 'Find the line of the request in the log of the authorization server by its request_id.'

/** Explains the codes of the endpoints of the authorization server. docs/interface.md section 7.4 has the same codes. */
export const AUTHORIZATION_SERVER_ERRORS: Readonly<Record<string, ErrorExplanation>> = {
  invalid_request: {
    statuses: [400, 413, 'redirect'],
    title: 'A parameter is not valid',
    causes: ['A parameter or the body is missing, malformed, repeated or too large.'],
    client: ['Read error_description, which names the parameter, and correct the request.'],
    operator: [LOG_OF_SERVER],
  },
  invalid_client: {
    statuses: [400, 401],
    title: 'The client is not known',
    causes: [
      'Status 401: the client ID is unknown, or the client secret is missing or wrong.',
      'Status 400: the client ID is a URL, and the document at this URL is not valid.',
      'The server deletes a client that nobody uses.',
    ],
    client: ['Register the client again, and use the new client ID. Send the client secret in the form.'],
    operator: [
      'Check integrations for a client of the configuration.',
      'registration.unusedClients sets when the server deletes a client without a grant.',
    ],
  },
  invalid_grant: {
    statuses: [400],
    title: 'The code or the refresh token is not valid',
    causes: [
      'The code or the refresh token is unknown, used, expired or revoked, or belongs to another client.',
      'The parameter redirect_uri or code_verifier differs from the authorization request.',
    ],
    client: [
      'Start a new authorization.',
      'Use each code once, and always use the newest refresh token: the use of an old one revokes the grant.',
    ],
    operator: ['The audit log shows when and why a grant ended.'],
  },
  invalid_scope: {
    statuses: [400, 'redirect'],
    title: 'A requested scope is not available',
    causes: ['A requested scope is unknown, or a refresh requests a scope that the person did not grant.'],
    client: [
      'Request only scopes in scopes_supported of the metadata. For more scopes, start a new authorization.',
    ],
    operator: ['The scope catalogue scopes.yaml defines the scopes.'],
  },
  invalid_target: {
    statuses: [400, 'redirect'],
    title: 'The requested resource is not available',
    causes: ['The parameter resource names several resources, an unknown one, or one without consent.'],
    client: ['Send one resource: the identifier in the metadata of the API.'],
    operator: ['The key protectedResources lists the resources in addition to the base URL.'],
  },
  unsupported_grant_type: {
    statuses: [400],
    title: 'The grant type is not supported',
    causes: ['The value of grant_type is not one of the supported grant types.'],
    client: ['Use authorization_code or refresh_token.'],
    operator: ['The metadata lists the grant types in grant_types_supported.'],
  },
  unsupported_response_type: {
    statuses: [400, 'redirect'],
    title: 'The response type is not supported',
    causes: ['The value of response_type is not code.'],
    client: ['Send response_type=code and a PKCE challenge.'],
    operator: ['Correct the configuration of the app.'],
  },
  unsupported_response_mode: {
    statuses: [400, 'redirect'],
    title: 'The response mode is not supported',
    causes: ['The value of response_mode is not query.'],
    client: ['Remove response_mode, or send response_mode=query.'],
    operator: ['Correct the configuration of the app.'],
  },
  access_denied: {
    statuses: ['redirect'],
    title: 'The person denied access',
    causes: ['The person selected Cancel on a sign-in page or on the consent page.'],
    client: ['Do not repeat the request. Let the person start again.'],
    operator: ['No action is necessary. The audit log contains consent_denied.'],
  },
  login_required: {
    statuses: ['redirect'],
    title: 'The person must sign in',
    causes: [
      'A request with prompt=none needs the sign-in page.',
      'The session of the person ended during the request, or another person signed in.',
    ],
    client: ['Repeat the request without prompt=none.'],
    operator: ['lifetimes.session sets how long a person stays signed in.'],
  },
  consent_required: {
    statuses: ['redirect'],
    title: 'The person must give consent',
    causes: ['A request with prompt=none needs the consent page.'],
    client: ['Repeat the request without prompt=none.'],
    operator: ['consent.remember sets how long the server remembers a consent.'],
  },
  interaction_required: {
    statuses: ['redirect'],
    title: 'The person must use a page',
    causes: ['A request with prompt=none needs a page of the authorization server.'],
    client: ['Repeat the request without prompt=none.'],
    operator: ['No action is necessary.'],
  },
  unmet_authentication_requirements: {
    statuses: ['redirect'],
    title: 'The sign-in is too weak',
    causes: [
      'The request requires a class of sign-in in acr_values that the sign-in of the person does not have.',
    ],
    client: ['Use only values in acr_values_supported of the metadata.'],
    operator: ['The key signIn.secondFactor makes the class with two factors available.'],
  },
  request_not_supported: {
    statuses: [400, 'redirect'],
    title: 'Request objects are not supported',
    causes: ['The authorization request has the parameter request.'],
    client: ['Send the parameters in the query, or push them and use the request_uri of the response.'],
    operator: ['Correct the configuration of the app.'],
  },
  request_uri_not_supported: {
    statuses: [400, 'redirect'],
    title: 'The request_uri is not from this server',
    causes: [
      'Redirect: the authorization request has a request_uri that this server did not issue.',
      'Status 400: a pushed request contains the parameter request_uri.',
    ],
    client: ['Push the parameters without request_uri, and use the request_uri of the response.'],
    operator: ['Correct the configuration of the app.'],
  },
  registration_not_supported: {
    statuses: [400, 'redirect'],
    title: 'Registration in the authorization request is not supported',
    causes: ['The authorization request has the parameter registration.'],
    client: ['Register at the registration endpoint before the authorization.'],
    operator: ['Correct the configuration of the app.'],
  },
  invalid_request_uri: {
    statuses: [400],
    title: 'The pushed request is no longer valid',
    causes: ['The request_uri of a pushed request is unknown, expired or used.'],
    client: ['Push the request again, and use each request_uri once and immediately.'],
    operator: [LOG_OF_SERVER],
  },
  invalid_redirect_uri: {
    statuses: [400],
    title: 'Registration does not allow the redirect URI',
    causes: ['A client that registers itself can have only redirect URIs on the computer of the person.'],
    client: ['Register a redirect URI such as http://127.0.0.1:53682/callback.'],
    operator: ['Add a client with an https redirect URI to integrations in authorization-server.yaml.'],
  },
  invalid_client_metadata: {
    statuses: [400],
    title: 'A field of the registration is not valid',
    causes: ['A field other than redirect_uris is malformed, too long or not supported.'],
    client: ['Read error_description, which names the field, and correct it.'],
    operator: [LOG_OF_SERVER],
  },
  invalid_dpop_proof: {
    statuses: [400, 401],
    title: 'The DPoP proof is not valid',
    causes: ['The proof is malformed, too old, already used, or belongs to another request or key.'],
    client: ['Create a new proof for each request, with its method and URL. Check the clock of the client.'],
    operator: ['Check the clock of the authorization server. issuer must be the URL that clients use.'],
  },
  use_dpop_nonce: {
    statuses: [400, 401],
    title: 'The DPoP proof needs a new nonce',
    causes: ['The proof contains a nonce that is not valid, or no longer valid.'],
    client: [
      'Create a new proof with the nonce in the header DPoP-Nonce of this response, and repeat the request.',
    ],
    operator: ['No action is necessary.'],
  },
  unauthorized: {
    statuses: [401],
    title: 'The request has no access token',
    causes: ['The userinfo endpoint requires an access token.'],
    client: ['Send the token as Authorization: Bearer <access token>.'],
    operator: ['Check that the proxies before the gateway forward the header Authorization.'],
  },
  invalid_token: {
    statuses: [401],
    title: 'The access token is not valid',
    causes: ['The token for the userinfo endpoint is unknown, expired or revoked.'],
    client: ['Use the refresh token once. If this fails, start a new authorization.'],
    operator: [LOG_OF_SERVER],
  },
  insufficient_scope: {
    statuses: [403],
    title: 'The access token lacks the scope openid',
    causes: ['The userinfo endpoint requires the scope openid.'],
    client: ['Start a new authorization with openid in scope.'],
    operator: ['No action is necessary.'],
  },
  not_found: {
    statuses: [404],
    title: 'The endpoint does not exist',
    causes: ['No endpoint of the authorization server has this path.'],
    client: ['Read the URLs of the endpoints in the metadata of the authorization server.'],
    operator: ['Check that the proxies before the server do not change the path.'],
  },
  method_not_allowed: {
    statuses: [405],
    title: 'The endpoint does not allow this method',
    causes: ['The endpoint exists, but not for the method of the request.'],
    client: ['Use a method of the header Allow.'],
    operator: ['No action is necessary.'],
  },
  rate_limited: {
    statuses: [429],
    title: 'Too many requests from one address',
    causes: [
      'One address sent too many registrations or authorization requests, or the canary requested too many tokens.',
    ],
    client: ['Wait for the seconds in Retry-After, then repeat the request.'],
    operator: [
      'The keys rateLimit of registration and authorization set the limits.',
      'If all clients have the address of a proxy, list the proxy in trustedProxies of the gateway.',
    ],
  },
  temporarily_unavailable: {
    statuses: [503],
    title: 'The store does not respond',
    causes: ['The authorization server cannot use its store.'],
    client: ['Wait for the seconds in Retry-After, then repeat the request.'],
    operator: ['The endpoint /readyz?verbose shows the state of the store. Restore the store.'],
  },
  server_error: {
    statuses: [500],
    title: 'The authorization server has a defect',
    causes: ['An unexpected failure occurred. It affects only this request.'],
    client: ['Report the request_id to the operator.'],
    operator: ['The log contains the error with the request_id.'],
  },
}

/** Explains the codes that only the pages for people have. authorization-server/pages/messages/ has the texts. */
export const SIGN_IN_PAGE_ERRORS: Readonly<Record<string, ErrorExplanation>> = {
  interaction_expired: {
    statuses: [400],
    title: 'The page is no longer valid',
    causes: ['The sign-in is complete or expired, or this browser did not start it.'],
    client: [NEW_AUTHORIZATION, 'Do not save the address of the page, and do not use the button Back.'],
    operator: [
      'If each sign-in shows this page, check that the proxies before the server forward cookies and the header Host.',
    ],
  },
  other_browser: {
    statuses: [403],
    title: 'The page belongs to another browser',
    causes: ['The cookie of the browser is missing, or it belongs to another sign-in.'],
    client: ['Finish the sign-in in the browser that started it, and allow cookies.', NEW_AUTHORIZATION],
    operator: ['Check that the app opens the URL in the browser of the person, not in a program.'],
  },
  wrong_step: {
    statuses: [400],
    title: 'The step is already complete',
    causes: ['The browser sent a form of an earlier step, for example after the button Back.'],
    client: [NEW_AUTHORIZATION],
    operator: ['No action is necessary.'],
  },
  form_refused: {
    statuses: [403],
    title: 'The form is not from this page',
    causes: [
      'The form has no valid token of this browser, or another site sent it.',
      'The form is for a sign-in with a password, and signIn.local is false.',
    ],
    client: ['Allow cookies for the site, then start again from the app.'],
    operator: [
      'issuer must be the URL in the browser.',
      'Check that the proxies before the server keep the headers Origin, Cookie and Sec-Fetch-Site.',
    ],
  },
  form_unreadable: {
    statuses: [400, 413, 415],
    title: 'The form cannot be read',
    causes: ['The form is malformed, incomplete or too large, repeats a field, or has another content type.'],
    client: ['Send the form of the page without changes.', NEW_AUTHORIZATION],
    operator: ['Check that the proxies before the server do not change the bodies of requests.'],
  },
  link_invalid: {
    statuses: [400],
    title: 'The link is no longer valid',
    causes: ['The link for a new password is unknown, expired or used.'],
    client: ['Ask the operator for a new link.'],
    operator: ['Create a new link with scopegate account reset-password NAME --link.'],
  },
  too_many_attempts: {
    statuses: [429],
    title: 'Too many failed attempts',
    causes: ['An account or an address has too many failed attempts with a password, a code or a link.'],
    client: ['Wait for the seconds in Retry-After, then try again.'],
    operator: [
      'The audit log lists failed sign-ins with their addresses.',
      'If all people have the address of a proxy, list the proxy in trustedProxies of the gateway.',
    ],
  },
  busy: {
    statuses: [503],
    title: 'Too many sign-ins at the same time',
    causes: ['The server checks as many passwords at the same time as its limit allows.'],
    client: ['Wait for the seconds in Retry-After, then try again.'],
    operator: ['Add replicas or CPU time to the authorization server. Look for attacks in the audit log.'],
  },
}
