import { isRecord } from '../../platform/diagnostics/record.ts'
import type { YamlPath } from '../../platform/diagnostics/yaml/yaml-locations.ts'
import { own } from './plain-data.ts'

/** The common path prefix of all servers in a list, without a trailing slash, or the reason for its absence. */
export type Prefix =
  | { readonly prefix: string }
  | { readonly problem: string; readonly hint: string; readonly at: YamlPath }

const OVERRIDE_HINT = 'select one with --server, or set the path: x-scopegate: { match: { path: … } }'

/**
 * Reads the prefix of all paths from `servers`. Ignores hosts, because the gateway has its own address.
 * Source: OpenAPI 3.1 sections 4.8.5 and 4.8.6.
 */
export function readPrefix(servers: unknown): Prefix {
  if (servers === undefined) return { prefix: '' }
  if (!Array.isArray(servers))
    return { problem: 'servers must be a list', hint: 'write [{ url: … }]', at: [] }
  let first: string | undefined
  for (const [index, server] of servers.entries()) {
    const url = own(server, 'url')
    if (typeof url !== 'string')
      return { problem: 'a server must have a url', hint: 'write { url: … }', at: [index] }
    const at = [index, 'url']
    const path = /^(?:(?:[A-Za-z{][^:/?#]*:)?\/\/[^/?#]*)?(\/.*)?$/s.exec(url)
    if (path === null)
      return {
        problem: `${JSON.stringify(url)} is relative to an unknown URL`,
        hint: 'start the URL with / or https://',
        at,
      }
    const filled = fillVariables(path[1] ?? '', own(server, 'variables'))
    if ('problem' in filled) return { ...filled, at }
    if (/[?#]/.test(filled.text))
      return {
        problem: 'the URL of a server must not have a query or a fragment',
        hint: 'remove the query or the fragment',
        at,
      }
    const prefix = filled.text.replace(/\/+$/, '')
    if (first !== undefined && first !== prefix)
      return {
        problem: `the servers have different paths, ${JSON.stringify(first)} and ${JSON.stringify(prefix)}`,
        hint: OVERRIDE_HINT,
        at,
      }
    first = prefix
  }
  return { prefix: first ?? '' }
}

/**
 * Reads the path of one server, for example `/v1` of `https://api.example.com/v1/`.
 * @returns the path without a trailing slash; undefined for any text other than an address or a path.
 */
export function readServerPath(server: string): string | undefined {
  if (/[?#{}\s]/.test(server)) return undefined
  if (server.startsWith('/')) return server.replace(/\/+$/, '')
  return /^https?:\/\//.test(server) && URL.canParse(server)
    ? new URL(server).pathname.replace(/\/+$/, '')
    : undefined
}

/** Replaces each variable in a path by its only value. Reports a variable with several possible values. */
function fillVariables(
  path: string,
  variables: unknown,
): { readonly text: string } | { readonly problem: string; readonly hint: string } {
  const unclear: string[] = []
  const text = path.replace(/\{([^{}]*)\}/g, (_, name: string) => {
    const variable = own(variables, name)
    const [value, choices] = [own(variable, 'default'), own(variable, 'enum')]
    if (!isRecord(variable) || typeof value !== 'string' || (Array.isArray(choices) && choices.length > 1))
      unclear.push(name)
    return String(value)
  })
  const [name] = unclear
  return name === undefined
    ? { text }
    : { problem: `{${name}} in the path of a server needs exactly one value`, hint: OVERRIDE_HINT }
}
