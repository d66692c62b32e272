import type { Rejection } from '../../policy-engine/decide/rejection.ts'
import type { HeaderSource } from '../../policy-engine/match/find-header.ts'
import { isUnambiguous, type McpCall, nameMemberOf } from '../../policy-engine/match/mcp-call.ts'
import { decodeText, isObject, parseJson, readMembers, skipSpace } from './json-members.ts'

/** The only content type of MCP messages. Upstreams could decode another charset to other text. */
const JSON_TYPE = /^application\/json[ \t]*(?:;[ \t]*charset[ \t]*=[ \t]*(?:utf-8|"utf-8")[ \t]*)?$/i

/**
 * Checks that the body is plain JSON, before the gateway reads the body.
 * @returns `mcp_body_invalid` (400).
 */
export function checkMcpContent(request: HeaderSource): Rejection | undefined {
  const type = request.header('content-type')
  if (typeof type !== 'string' || !JSON_TYPE.test(type))
    return invalid('Send the MCP message with the content type application/json.')
  const coding = request.header('content-encoding')
  if (coding !== undefined && (typeof coding !== 'string' || coding.toLowerCase() !== 'identity'))
    return invalid('Send the MCP message without Content-Encoding.')
  return undefined
}

/**
 * Reads the method and the name of the call from an MCP message. Pure. Accepts only messages that every parser reads in
 * the same way.
 * @returns the call, or `mcp_body_invalid` (400).
 */
export function readMcpCall(body: Buffer): McpCall | Rejection {
  const text = decodeText(body)
  const message = text === undefined ? undefined : parseJson(text)
  if (text === undefined || message === undefined) return invalid('The body is not valid JSON in UTF-8.')
  if (!isObject(message)) return invalid('The body must contain exactly one MCP message, not a batch.')
  const members = readMembers(text, skipSpace(text, 0), ['method', 'params'])
  if (members === undefined) return AMBIGUOUS_KEYS
  const { method, params } = message
  if (method === undefined) return { method: undefined, name: undefined }
  if (typeof method !== 'string' || !isUnambiguous(method))
    return invalid(`The method of the MCP message must be a text, ${PLAIN_TEXT}.`)
  const nameMember = nameMemberOf(method)
  if (params === undefined && nameMember === undefined) return { method, name: undefined }
  const range = members.get('params')
  if (range === undefined || !isObject(params))
    return invalid('The params of the MCP message must be an object.')
  if (readMembers(text, range.start, nameMember === undefined ? [] : [nameMember]) === undefined)
    return AMBIGUOUS_KEYS
  if (nameMember === undefined) return { method, name: undefined }
  const name = params[nameMember]
  if (typeof name !== 'string' || !isUnambiguous(name))
    return invalid(`This MCP method requires a text in params.${nameMember}, ${PLAIN_TEXT}.`)
  return { method, name }
}

const PLAIN_TEXT = 'which is not empty and has no control characters and no outer white space'

function invalid(detail: string): Rejection {
  return { rejected: 'mcp_body_invalid', detail }
}

const AMBIGUOUS_KEYS = invalid(
  'The MCP message has duplicate keys, or keys that some servers read in another way.',
)
