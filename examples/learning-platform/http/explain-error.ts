import type { FastifyError } from 'fastify'
import { describeInvalid } from './describe-invalid.ts'
import type { Problem } from './problem.ts'

/** SQLITE_BUSY and SQLITE_LOCKED: another process locks the file. SQLITE_FULL: the disk is full. */
const SQLITE_PASSING = new Set([5, 6, 13])

/** Converts a thrown error to a problem for the client. Only the log contains details of an unexpected error. */
export function explainError(error: FastifyError & { readonly errcode?: number }): Problem {
  const invalid = error.validation?.[0]
  if (invalid !== undefined)
    return {
      code: 'invalid_request',
      description: describeInvalid(invalid, error.validationContext === 'querystring'),
    }
  if (error.errcode !== undefined && SQLITE_PASSING.has(error.errcode & 0xff))
    return { code: 'temporarily_unavailable', description: 'The service is busy. Try again in a second.' }
  switch (error.statusCode) {
    case 414: // a path parameter longer than any id
      return { code: 'not_found', description: 'The demo API does not have this path.' }
    case 413:
      return { code: 'payload_too_large', description: 'The body is larger than 1 MiB.' }
    case 415:
      return {
        code: 'unsupported_media_type',
        description:
          'Send the body as application/json. For PATCH, application/merge-patch+json is also allowed.',
      }
    case 400:
      return {
        code: 'invalid_request',
        description:
          error.code === 'FST_ERR_BAD_URL'
            ? 'The percent-encoding of the path is invalid.'
            : 'The body is not valid JSON, or its length differs from Content-Length.',
      }
    default:
      return error.statusCode !== undefined && error.statusCode >= 400 && error.statusCode < 500
        ? {
            code: 'invalid_request',
            description:
              'The service cannot process this request. Check its path, Content-Type and Content-Length.',
          }
        : {
            code: 'server_error',
            description: 'Internal error. Quote the request ID in reports.',
          }
  }
}
