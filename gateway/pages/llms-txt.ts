import { ENDPOINTS } from '../../oauth/endpoints.ts'
import { ERRORS_PATH } from '../../policy-engine/match/free-pages.ts'
import { GATEWAY_ERRORS } from './error-guide.ts'

/**
 * Writes `/llms.txt`, the entry page for agents.
 * Source: https://llmstxt.org (a heading, a summary as a quotation, and lists of links).
 */
export function llmsTxt(options: {
  readonly apiName: string
  readonly baseUrl: string
  readonly bundledAuthorizationServer: boolean
  readonly hasReference: boolean
}): string {
  const { apiName, baseUrl } = options
  const link = (title: string, path: string, text: string): string =>
    `- [${title}](${baseUrl}${path}): ${text}`
  const sections = [
    `# ${apiName.replace(/\s+/g, ' ')}`,
    `> The API at ${baseUrl}. It accepts OAuth access tokens.${options.bundledAuthorizationServer ? ' A person gives consent in a browser.' : ''}`,
    `## Access

${[
  link('Get a token', '/auth.md', 'the steps to a first call, the scopes and the limits'),
  link('OpenAPI description', '/openapi.json', 'all operations with their scopes'),
  link('Resource metadata', ENDPOINTS.protectedResourceMetadata, 'issuers and scopes (RFC 9728)'),
  ...(options.bundledAuthorizationServer
    ? [
        link(
          'Authorization server metadata',
          ENDPOINTS.authorizationServerMetadata,
          'endpoints and grant types (RFC 8414)',
        ),
      ]
    : []),
].join('\n')}`,
    ...(options.hasReference
      ? [
          `## Errors

${Object.entries(GATEWAY_ERRORS)
  .map(([code, { statuses, title }]) =>
    link(code, `${ERRORS_PATH}/${code}`, `${statuses.join(', ')}, ${lowerFirst(title)}`),
  )
  .join('\n')}
${link('All error codes', ERRORS_PATH, 'also the codes of sign-in and of token requests')}`,
          `## Optional

${link('API reference', '/docs', 'for people, with requests from the browser')}`,
        ]
      : []),
  ]
  return `${sections.join('\n\n')}\n`
}

function lowerFirst(text: string): string {
  return text.charAt(0).toLowerCase() + text.slice(1)
}
