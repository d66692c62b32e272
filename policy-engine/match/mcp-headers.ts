import type { Rejection } from '../decide/rejection.ts'
import { AMBIGUOUS, type HeaderSource } from './find-header.ts'
import { isUnambiguous, type McpCall, nameMemberOf } from './mcp-call.ts'

const MCP_PREFIX = 'mcp-'
export const MCP_VERSION = 'mcp-protocol-version'
const MCP_METHOD = 'mcp-method'
const MCP_NAME = 'mcp-name'
/** An MCP revision is a date, so its text has the order of the dates. */
const MCP_REVISION = /^\d{4}-\d{2}-\d{2}$/
/** The first revision with the headers. A server of an older revision does not compare them with the body. */
export const FIRST_REVISION = '2026-07-28'
const BASE64 = /^=\?base64\?((?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?)\?=$/

const HEADERS_DIFFER: Rejection = Object.freeze({ rejected: 'mcp_headers_differ' })
export const NO_MCP_MESSAGE: Rejection = Object.freeze({
  rejected: 'mcp_body_invalid',
  detail: 'This path requires a body with an MCP message.',
})

/** Returns whether a server with the MCP revision compares the headers with the body. */
export function comparesHeaders(revision: string): boolean {
  return MCP_REVISION.test(revision) && revision >= FIRST_REVISION
}

/** Returns whether MCP repeats a value of the body in the header. @param name in lower case. */
export function isMcpValue(name: string): boolean {
  return name.startsWith(MCP_PREFIX) && name !== MCP_VERSION
}

/** Returns whether the header repeats a part of an MCP call. @param name in lower case. */
export function isCallHeader(name: string): boolean {
  return name === MCP_METHOD || name === MCP_NAME
}

/**
 * Reads a header for the choice of a route. If the gateway has read the call from the body, the call replaces the headers
 * `mcp-method` and `mcp-name`. Unless `mcp-protocol-version` contains an MCP revision that has the headers, all other
 * `mcp-` headers are ambiguous.
 */
export function readMatchHeader(request: HeaderSource, name: string): string | undefined | typeof AMBIGUOUS {
  const { mcpCall } = request
  if (mcpCall !== undefined) {
    if (name === MCP_METHOD) return mcpCall.method
    if (name === MCP_NAME) return mcpCall.name
  }
  const value = request.header(name)
  if (typeof value !== 'string' || !isMcpValue(name)) return value
  const version = request.header(MCP_VERSION)
  if (typeof version !== 'string' || !comparesHeaders(version)) return AMBIGUOUS
  return decode(value)
}

/**
 * Checks that the headers `mcp-method` and `mcp-name` agree with the body. Missing headers agree, because older revisions
 * do not have them.
 * @returns `mcp_headers_differ` (400) if a header has another value, occurs twice or has another spelling.
 */
export function checkMcpHeaders(request: HeaderSource, call: McpCall): Rejection | undefined {
  const agrees = (name: string, expected: string | undefined): boolean => {
    const value = request.header(name)
    return value === undefined || (typeof value === 'string' && decode(value) === expected)
  }
  return agrees(MCP_METHOD, call.method) && agrees(MCP_NAME, call.name) ? undefined : HEADERS_DIFFER
}

/**
 * Returns the call of a simulated request. A simulated request has no body, so the headers `mcp-method` and `mcp-name`
 * contain the call.
 * @returns the call, or the rejection that a body with these values causes.
 */
export function simulatedCall(request: HeaderSource): McpCall | Rejection {
  const [method, name] = [MCP_METHOD, MCP_NAME].map((header) => {
    const value = request.header(header)
    return typeof value === 'string' ? decode(value) : value
  })
  if (method === AMBIGUOUS || name === AMBIGUOUS) return HEADERS_DIFFER
  if (method === undefined) return NO_MCP_MESSAGE
  if ((nameMemberOf(method) === undefined) !== (name === undefined)) return HEADERS_DIFFER
  return { method, name }
}

/**
 * Decodes the value of an MCP header. MCP encodes values that are not plain ASCII as Base64. After decoding, each tool
 * has the same name in both notations.
 * Source: MCP 2026-07-28, Streamable HTTP, section "Value Encoding".
 */
function decode(value: string): string | typeof AMBIGUOUS {
  const encoded = BASE64.exec(value)?.[1]
  const decoded = !value.startsWith('=?') ? value : encoded === undefined ? undefined : decodeUtf8(encoded)
  return decoded === undefined || !isUnambiguous(decoded) ? AMBIGUOUS : decoded
}

function decodeUtf8(base64: string): string | undefined {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(Buffer.from(base64, 'base64'))
  } catch {
    return undefined
  }
}
