import type { ServerResponse } from 'node:http'
import { pageHeaders } from '../pages/page-headers.ts'
import { renderErrorPage } from '../pages/render-error-page.ts'

/** For a browser that cannot be sent back to the client. */
export function errorPage(
  error: { readonly error: string; readonly description: string },
  response: ServerResponse,
  serviceName: string,
): string {
  for (const [name, value] of Object.entries(pageHeaders([]))) response.setHeader(name, value)
  const requestId = response.getHeader('x-request-id')
  return renderErrorPage({
    ...error,
    serviceName,
    requestId: typeof requestId === 'string' ? requestId : undefined,
  })
}
