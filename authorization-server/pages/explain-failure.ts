import { InteractionError } from '../engine/interactions.ts'
import { StoreError } from '../store/store.ts'
import type { PageError } from './render-error-page.ts'

export type ExplainedFailure = PageError & {
  readonly status: number
  readonly retryAfterSeconds?: number
  /** True when the server caused the failure. The log then has an error. */
  readonly ours: boolean
}

/**
 * Returns the error page for a failure, by its class and code. An unknown failure counts as a server error, and the
 * page shows no details of the failure.
 */
export function explainFailure(failure: unknown): ExplainedFailure {
  if (failure instanceof InteractionError) return explainInteraction(failure)
  if (failure instanceof StoreError)
    return {
      status: 503,
      error: 'temporarily_unavailable',
      description: 'The store is unavailable.',
      retryAfterSeconds: 2,
      ours: true,
    }
  switch ((failure as { code?: unknown } | null)?.code) {
    case 'FST_ERR_CTP_BODY_TOO_LARGE':
      return { status: 413, error: 'form_unreadable', description: 'The form is too large.', ours: false }
    case 'FST_ERR_CTP_INVALID_MEDIA_TYPE':
      return {
        status: 415,
        error: 'form_unreadable',
        description: 'The content type of a form must be application/x-www-form-urlencoded.',
        ours: false,
      }
    case 'FST_ERR_CTP_INVALID_CONTENT_LENGTH':
      return { status: 400, error: 'form_unreadable', description: 'The form is incomplete.', ours: false }
    default:
      return { status: 500, error: 'server_error', description: 'Internal error.', ours: true }
  }
}

function explainInteraction(failure: InteractionError): ExplainedFailure {
  switch (failure.code) {
    case 'ERR_INTERACTION_EXPIRED':
      return {
        status: 400,
        error: 'interaction_expired',
        description: 'The interaction does not exist in this browser or has expired.',
        ours: false,
      }
    case 'ERR_INTERACTION_OTHER_BROWSER':
      return {
        status: 403,
        error: 'other_browser',
        description: 'The interaction cookie does not belong to this URL.',
        ours: false,
      }
    case 'ERR_INTERACTION_CLIENT_DOCUMENT':
      return { status: 400, error: 'invalid_client', description: failure.message, ours: false }
    case 'ERR_INTERACTION_STEP':
      return {
        status: 400,
        error: 'wrong_step',
        description: 'The interaction expects another step.',
        ours: false,
      }
  }
}
