import type { Refusal } from '../refusal.ts'

/**
 * Stage 6: what a route takes. A body that announces too many bytes is refused before one of them is read;
 * one that does not announce its length is counted while it passes (upstreams/request-body.ts).
 * @returns undefined to go on, or `body_too_large`.
 */
export function limit(
  request: { readonly contentLength: number },
  route: { readonly bodyLimitBytes: number },
): Refusal | undefined {
  if (request.contentLength <= route.bodyLimitBytes) return undefined
  return { refused: 'body_too_large', limitBytes: route.bodyLimitBytes }
}
