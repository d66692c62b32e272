import type { HeaderValue } from '../load/header-rules.ts'
import { type HeaderSource, UNCLEAR } from './find-header.ts'

/** Routes of one method and path that headers tell apart, so that finding one of them does not depend on how many there are. */
export type HeaderChoice<T> = {
  /** Every header that one of them asks for. */
  readonly names: readonly string[]
  /** Those that ask for the same headers, the ones that ask for most first. */
  readonly layers: readonly { readonly names: readonly string[]; readonly byValues: ReadonlyMap<string, T> }[]
  /** The one that asks for none. */
  readonly base: T | undefined
}

/** One of the routes, and the headers it asks for, sorted by name. */
export type Candidate<T> = { readonly headers: readonly HeaderValue[]; readonly route: T }

/** Prepares the choice. Order changes nothing. @throws {Error} when two ask for the same: `loadPolicies` finds that before. */
export function compileHeaderChoice<T>(candidates: readonly Candidate<T>[]): HeaderChoice<T> {
  const layers = new Map<string, { names: readonly string[]; byValues: Map<string, T> }>()
  for (const { headers, route } of candidates) {
    const names = headers.map(({ name }) => name)
    const layer = layers.get(names.join()) ?? { names, byValues: new Map<string, T>() }
    layers.set(names.join(), layer)
    const key = joinValues(headers.map(({ value }) => value))
    if (layer.byValues.has(key)) throw new Error('the method and path of a route are already declared')
    layer.byValues.set(key, route)
  }
  const base = layers.get('')?.byValues.get('')
  layers.delete('')
  return {
    names: [...new Set([...layers.values()].flatMap(({ names }) => names))].toSorted(),
    layers: [...layers.entries()]
      .toSorted(([a, one], [b, other]) => other.names.length - one.names.length || (a < b ? -1 : 1))
      .map(([, layer]) => layer),
    base,
  }
}

/** Returns every route of a choice. */
export function entriesOf<T>({ layers, base }: HeaderChoice<T>): readonly T[] {
  const entries = layers.flatMap(({ byValues }) => [...byValues.values()])
  return base === undefined ? entries : [...entries, base]
}

/**
 * Chooses the route whose headers a request brings; of several the one that asks for most. A header that one of them asks for
 * and that is unclear leads nowhere: an upstream could read it another way than the gateway.
 * @returns undefined when there is none.
 */
export function chooseByHeaders<T>(choice: HeaderChoice<T>, request: HeaderSource): T | undefined {
  const values = new Map<string, string>()
  for (const name of choice.names) {
    const value = readHeader(request, name)
    if (value === UNCLEAR) return undefined
    if (value !== undefined) values.set(name, value)
  }
  for (const { names, byValues } of choice.layers) {
    if (!names.every((name) => values.has(name))) continue
    const route = byValues.get(joinValues(names.map((name) => values.get(name) ?? '')))
    if (route !== undefined) return route
  }
  return choice.base
}

/** No header value holds a line break. RFC 9110 section 5.5. */
function joinValues(values: readonly string[]): string {
  return values.join('\n')
}

const MCP_PREFIX = 'mcp-'
const MCP_VERSION = 'mcp-protocol-version'
/** MCP names its revisions by date. */
const MCP_REVISION = /^\d{4}-\d{2}-\d{2}$/
/** What some servers leave out: spaces around a value, a byte order mark, control characters. */
const IS_READ_OTHERWISE = /^\s|\s$|\p{Cc}/u
const BASE64 = /^=\?base64\?((?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?)\?=$/

/**
 * What MCP says in headers it says beside the revision that it follows, and a value that is not plain ASCII as Base64: the
 * same tool has one name, however it is written. Source: MCP 2026-07-28, Streamable HTTP.
 */
function readHeader(request: HeaderSource, name: string): string | undefined | typeof UNCLEAR {
  const value = request.header(name)
  if (typeof value !== 'string' || !name.startsWith(MCP_PREFIX) || name === MCP_VERSION) return value
  const version = request.header(MCP_VERSION)
  if (typeof version !== 'string' || !MCP_REVISION.test(version)) return UNCLEAR
  const encoded = BASE64.exec(value)?.[1]
  const said = !value.startsWith('=?') ? value : encoded === undefined ? undefined : decodeUtf8(encoded)
  return said === undefined || IS_READ_OTHERWISE.test(said) ? UNCLEAR : said
}

function decodeUtf8(base64: string): string | undefined {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(Buffer.from(base64, 'base64'))
  } catch {
    return undefined
  }
}
