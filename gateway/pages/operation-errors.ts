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
  policies_not_checked: {
    statuses: [503],
    title: 'The gateway could not check the policies',
    causes: [
      'The workers exited during the reload, no worker was ready, or the gateway shuts down.',
      'The policies on the disk can be valid. The earlier policies stay active.',
    ],
    client: ['Read error_description, which names the cause and the remedy. Then reload again.'],
    operator: [
      'The log contains policy_reload_workers_exited, policy_reload_no_worker or policy_reload_stopped with the remedy.',
    ],
  },
  server_error: {
    statuses: [500, 503],
    title: 'The service cannot process the request',
    causes: ['Status 500: a defect of the service.', 'Status 503: no worker of the gateway is ready.'],
    client: ['Status 503: repeat the request after a few seconds.'],
    operator: [
      'Status 500: the log contains the cause in management_error, or in policy_reload_internal_error for POST /reload.',
      'Status 503: the checks in /readyz?verbose show why the workers are not ready.',
    ],
  },
}

/**
 * Explains the codes of the socket through which the commands of the operator reach the authorization server. The
 * client is a command.
 */
export const ADMINISTRATION_ERRORS: Readonly<Record<string, ErrorExplanation>> = {
  invalid_request: {
    statuses: [400, 413, 415],
    title: 'The input of the command is not valid',
    causes: ['The body is not a JSON object of at most 16 KiB, or a member is missing or not valid.'],
    client: ['Read error_description, which names the member, and correct the arguments of the command.'],
    operator: ['The option --help of the command describes its arguments.'],
  },
  unknown_action: {
    statuses: [404],
    title: 'The server does not know the command',
    causes: ['The command and the running authorization server have different versions.'],
    client: ['Use the command of the version of the server.'],
    operator: ['Start the server again after an upgrade, or run the command in the container of the server.'],
  },
  not_found: {
    statuses: [404],
    title: 'The account, client, grant or session does not exist',
    causes: ['The argument of the command has a spelling error, or the object was removed or has expired.'],
    client: ['List the objects, for example with scopegate account list.'],
    operator: ['If another server has the object, select its data folder with --config or --data.'],
  },
  not_allowed: {
    statuses: [409],
    title: 'The object does not allow this change',
    causes: [
      'The configuration defines the client, or signIn.local is false.',
      'The account is disabled, has no second factor, or signs in without a password of this server.',
    ],
    client: ['Read error_description, which names the cause and the command or the place for the change.'],
    operator: ['Change the configuration, or make the change at the OpenID provider.'],
  },
  server_error: {
    statuses: [500],
    title: 'The authorization server has a defect',
    causes: ['An unexpected failure occurred. It affects only this command.'],
    client: ['Show the state of the object before you repeat the command.'],
    operator: ['The log of the authorization server contains administration_error with the cause.'],
  },
  temporarily_unavailable: {
    statuses: [503],
    title: 'The store does not respond',
    causes: ['The authorization server cannot use its store. The outcome of the command is unknown.'],
    client: ['Repeat the command when the store works again.'],
    operator: ['The endpoint /readyz?verbose shows the state of the store. Restore the store.'],
  },
}
