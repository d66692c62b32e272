import { AUTHORIZATION_SERVER_ERRORS, SIGN_IN_PAGE_ERRORS } from './authorization-server-errors.ts'
import { type ErrorExplanation, GATEWAY_ERRORS } from './error-guide.ts'
import { ADMINISTRATION_ERRORS, MANAGEMENT_ERRORS, SECURITY_EVENT_ERRORS } from './operation-errors.ts'

/** All error codes of one sender. One code can have several senders, with another meaning for each. */
export type ErrorGuide = {
  readonly sender: string
  /** How a client recognizes the codes. One text without markup. */
  readonly about: string
  /** Whether the codes exist only with the bundled authorization server. */
  readonly needsBundledServer: boolean
  readonly codes: ReadonlyMap<string, ErrorExplanation>
}

/**
 * Explains every error code of both services. The pages below `/docs/errors` and docs/error-responses.md show these
 * texts.
 */
export const ERROR_GUIDES: readonly ErrorGuide[] = [
  {
    sender: 'Gateway',
    about:
      'A JSON object with error, error_description and request_id. The header X-Scopegate-Error: 1 marks these errors. Errors without this header come from the authorization server, or from the service behind the gateway.',
    needsBundledServer: false,
    codes: new Map(Object.entries(GATEWAY_ERRORS)),
  },
  {
    sender: 'Authorization server',
    about:
      'A JSON object with error and error_description. The status redirect means that the app gets error as a parameter of its redirect URI.',
    needsBundledServer: true,
    codes: new Map(Object.entries(AUTHORIZATION_SERVER_ERRORS)),
  },
  {
    sender: 'Sign-in pages',
    about:
      'The pages of the authorization server for people show the code in their details for the developer. They also show codes of the authorization server.',
    needsBundledServer: true,
    codes: new Map(Object.entries(SIGN_IN_PAGE_ERRORS)),
  },
  {
    sender: 'Security events',
    about:
      'A JSON object with err and description. The client is an issuer that sends a security event to the gateway.',
    needsBundledServer: false,
    codes: new Map(Object.entries(SECURITY_EVENT_ERRORS)),
  },
  {
    sender: 'Management port',
    about: 'A JSON object with error and error_description. Clients of the API never get these errors.',
    needsBundledServer: false,
    codes: new Map(Object.entries(MANAGEMENT_ERRORS)),
  },
  {
    sender: 'Administration socket',
    about:
      'A JSON object with error and error_description. The client is a command of the operator, such as scopegate account list, which prints only error_description. Clients of the API never get these errors.',
    needsBundledServer: true,
    codes: new Map(Object.entries(ADMINISTRATION_ERRORS)),
  },
]

/** Returns the guides of an installation with or without the bundled authorization server. */
export function errorGuides(options: {
  readonly bundledAuthorizationServer: boolean
}): readonly ErrorGuide[] {
  return ERROR_GUIDES.filter((one) => options.bundledAuthorizationServer || !one.needsBundledServer)
}
