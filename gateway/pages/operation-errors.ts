import type { EventFault } from '../tokens/revocation/verify-security-event.ts'
import type { ErrorExplanation } from './error-guide.ts'

/** Explains the codes that an issuer gets for a Security Event Token. The issuer is the client. RFC 8935 section 2.4. */
export const SECURITY_EVENT_ERRORS: Readonly<Record<EventFault['err'], ErrorExplanation>> = {
  invalid_request: {
    statuses: [400],
    title: 'The security event is not valid',
    causes: [
      'The body is not one signed JWT of the type secevent+jwt, or the content type is not application/secevent+jwt.',
      'One of the claims jti, iat, exp and events is missing or not valid, or an event has no subject.',
    ],
    client: [
      'Read description, which names the fault, and correct the event. Do not send the same event again.',
    ],
    operator: ['The warning security_event_refused in the log names the fault. Report it to the issuer.'],
  },
  invalid_issuer: {
    statuses: [400],
    title: 'The gateway accepts no events from the issuer',
    causes: ['The claim iss is not an issuer with securityEvents in gateway.yaml.'],
    client: ['Send the events only to gateways that accept the tokens of the issuer.'],
    operator: ['Add securityEvents to the issuer. The value of issuer must equal iss in each character.'],
  },
  invalid_key: {
    statuses: [400],
    title: 'The gateway has no key for the security event',
    causes: [
      'The issuer does not publish the key with the kid of the event.',
      'The alg of the event is not one of the accepted algorithms.',
    ],
    client: ['Publish the key before its first use, and sign with an accepted algorithm.'],
    operator: [
      'Compare kid and alg of the event with the keys of the issuer and with jwt.algorithms in gateway.yaml.',
    ],
  },
  authentication_failed: {
    statuses: [400],
    title: 'The signature of the security event is not valid',
    causes: ['The key with the kid of the event did not create the signature, or the event was changed.'],
    client: ['Sign the event with the private key that belongs to its kid.'],
    operator: [
      'The warning security_event_refused has the address of the sender. Another sender than the issuer is an attack.',
    ],
  },
  invalid_audience: {
    statuses: [400],
    title: 'The security event is for another receiver',
    causes: ['The claim aud has no value of securityEvents.audience.'],
    client: ['Send the aud that the operator of the gateway configured.'],
    operator: [
      'Compare securityEvents.audience of the issuer in gateway.yaml with the receiver at the issuer.',
    ],
  },
}

/** Explains the codes of the management port of both services. */
export const MANAGEMENT_ERRORS: Readonly<Record<string, ErrorExplanation>> = {
  misdirected_request: {
    statuses: [421],
    title: 'The management port does not accept the host name',
    causes: [
      'The header Host contains a name that is not localhost, management.host or a name in management.names.',
      'The check prevents that a web page reads the port through its own host name (DNS rebinding).',
    ],
    client: ['Use an IP address or localhost.'],
    operator: ['Add the name of the Service, or the name that Prometheus uses, to management.names.'],
  },
  access_denied: {
    statuses: [401, 403],
    title: 'The management port denies the request',
    causes: [
      'Status 401: the page of the console requires a sign-in.',
      'Status 403: a web page of another origin sent the request. Only programs may change the state of a service.',
    ],
    client: [
      'Status 401: sign in at /console/sign-in.',
      'Status 403: send the request from a program, without the header Origin.',
    ],
    operator: ['Status 401: management.adminTokenFile contains the tokens for the sign-in.'],
  },
  invalid_request: {
    statuses: [400, 413, 415],
    title: 'The request is not valid',
    causes: ['The body is malformed, too large or of another content type, or a member is not valid.'],
    client: ['Read error_description, which names the fault, and correct the request.'],
    operator: ['The page on the management port lists the members of each endpoint.'],
  },
  not_found: {
    statuses: [404],
    title: 'The endpoint does not exist',
    causes: ['The management port of this service has no endpoint with this path.'],
    client: ['Use a path that error_description lists.'],
    operator: ['Check the port: the gateway and the authorization server have different endpoints.'],
  },
  method_not_allowed: {
    statuses: [405],
    title: 'The endpoint does not allow this method',
    causes: ['The endpoint exists, but not for the method of the request.'],
    client: ['Use a method of the header Allow.'],
    operator: ['No action is necessary.'],
  },
  server_error: {
    statuses: [500, 503],
    title: 'The service cannot process the request',
    causes: ['Status 500: a defect of the service.', 'Status 503: no worker of the gateway is ready.'],
    client: ['Status 503: repeat the request after a few seconds.'],
    operator: [
      'Status 500: the log contains management_error with the cause.',
      'Status 503: the checks in /readyz?verbose show why the workers are not ready.',
    ],
  },
}
