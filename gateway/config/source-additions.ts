import { join } from 'node:path'
import type { ScopeCatalogue } from '../../oauth/scope.ts'
import { readConfig } from '../../platform/config/read-config.ts'
import { toScopeCatalogue } from '../../platform/config/read-scope-catalogue.ts'
import { capPerCode, collectProblems } from '../../platform/diagnostics/collect-problems.ts'
import {
  type Diagnostic,
  diagnostic,
  hasErrors,
  type SourceLocation,
  wholeFile,
} from '../../platform/diagnostics/diagnostic.ts'
import { displayPath } from '../../platform/diagnostics/display-path.ts'
import { isRecord } from '../../platform/diagnostics/record.ts'
import type { TextSource } from '../../platform/diagnostics/yaml/text-source.ts'
import { readYamlFile, type YamlDocument } from '../../platform/diagnostics/yaml/yaml-document.ts'
import type { YamlPath } from '../../platform/diagnostics/yaml/yaml-locations.ts'
import {
  type PolicyFolder,
  SOURCE_LIMITS,
  SOURCE_SCOPES_FILE,
  SOURCE_UPSTREAMS_FILE,
} from '../../policy-engine/load/policy-sources.ts'
import type { OwnUpstream, SourceAdditions } from '../../policy-engine/load/source-additions.ts'
import { type PolicySource, permitsScope } from '../../policy-engine/load/source-permissions.ts'
import type { UpstreamSettings } from '../upstreams/upstream.ts'
import { toUpstreamSettings } from './to-gateway-config.ts'
import { addressesOf, type UpstreamEntry, UpstreamsFile } from './upstreams-file.ts'
import { findInvalidUpstreams } from './validate.ts'

const NO_UPSTREAMS: UpstreamsFile = {}
/** An upstream of a source cannot name files of the gateway. */
const NO_FILES = { ca: undefined, certificate: undefined, credentials: undefined }
const NO_SCOPES: ScopeCatalogue = new Map()
/**
 * Paths in the addresses of a source. Other characters could lead outside of the permitted path: some servers resolve
 * `..;` and encoded dot segments.
 */
const PLAIN_PATH = /^[A-Za-z0-9\-._~/]*$/

/**
 * Reads and checks the upstreams and scopes that a policy source defines. Pure.
 * Codes: P007 limits; P407 address of an upstream; P408 name or key of an upstream; P409 scope.
 * @param options.catalogue scopes of the operator. These scopes take precedence over the scopes of a source.
 * @param options.findAuthorizationServers returns the names of the upstreams that lead to the authorization server.
 * @param options.toUpstream converts a valid entry. The addresses in the result are the addresses of the entry.
 */
export function readSourceAdditions<U extends OwnUpstream>(
  source: PolicySource,
  { files }: PolicyFolder,
  options: {
    readonly catalogue: ScopeCatalogue | undefined
    readonly findAuthorizationServers: (
      upstreams: readonly { readonly name: string; readonly urls: readonly string[] }[],
    ) => ReadonlySet<string>
    readonly toUpstream: (name: string, entry: UpstreamEntry) => U
  },
): SourceAdditions<U> {
  const { found, attempt } = collectProblems()
  const textOf = (name: string): TextSource | undefined => {
    const text = files.find((one) => one.name === name)?.source
    const limit = SOURCE_LIMITS.additionCharacters
    if (text === undefined || !('text' in text) || text.text.length <= limit) return text
    found.push(excess(`the file has more than ${limit} characters`, locationOfFile(source, name)))
    return undefined
  }
  const upstreamsText = textOf(SOURCE_UPSTREAMS_FILE)
  const upstreams =
    upstreamsText === undefined ? NO_UPSTREAMS : attempt(() => readUpstreams(source, upstreamsText, found))
  const scopesText = textOf(SOURCE_SCOPES_FILE)
  const scopes =
    scopesText === undefined
      ? NO_SCOPES
      : attempt(() => readScopes(source, scopesText, { found, catalogue: options.catalogue }))
  const isUsable = !hasErrors(found)
  const settings = isUsable
    ? Object.entries(upstreams ?? NO_UPSTREAMS).map(([name, entry]) => options.toUpstream(name, entry))
    : []
  return {
    upstreams: settings,
    scopes: isUsable ? (scopes ?? NO_SCOPES) : NO_SCOPES,
    authorizationServers: options.findAuthorizationServers(settings),
    diagnostics: capPerCode(found),
  }
}

/** Converts an entry in the upstreams of a policy source. */
export function toSourceUpstream(source: string, name: string, entry: UpstreamEntry): UpstreamSettings {
  return { ...toUpstreamSettings(name, entry, NO_FILES), policySource: source }
}

function locationOfFile({ folder }: PolicySource, name: string): SourceLocation {
  return wholeFile(displayPath(join(folder, name)))
}

function excess(message: string, location: SourceLocation): Diagnostic {
  return diagnostic('P007', message, location, {
    hint: 'remove entries, or divide them over several sources',
  })
}

function readUpstreams(source: PolicySource, text: TextSource, found: Diagnostic[]): UpstreamsFile {
  const file = join(source.folder, SOURCE_UPSTREAMS_FILE)
  const { value, locationOf } = readConfig({ file, schema: UpstreamsFile, env: {}, source: text })
  const report = (code: string, at: YamlPath, message: string, hint: string): void => {
    found.push(diagnostic(code, message, locationOf(at), { hint }))
  }
  const first = Object.keys(value)[SOURCE_LIMITS.upstreams]
  if (first !== undefined) {
    found.push(excess(`the file has more than ${SOURCE_LIMITS.upstreams} upstreams`, locationOf([first])))
    return NO_UPSTREAMS
  }
  found.push(...findInvalidUpstreams(value, displayPath(file)))
  const { permissions } = source
  for (const [name, entry] of Object.entries(value)) {
    if (permissions.upstreams.includes(name))
      report(
        'P408',
        [name],
        `the operator defines an upstream ${JSON.stringify(name)}, which source ${source.name} may use`,
        'choose another name',
      )
    for (const key of ['caFile', 'certFile', 'keyFile', 'credentials'] as const)
      if (entry[key] !== undefined)
        report(
          'P408',
          [name, key],
          'an upstream of a policy source cannot name files of the gateway',
          `remove ${key}, or ask the operator to define the upstream`,
        )
    for (const key of ['openapi', 'healthCheck'] as const)
      if (entry[key] !== undefined)
        report(
          'P408',
          [name, key],
          `an upstream of a policy source cannot have ${key}: the gateway would send requests without a policy`,
          `remove ${key}, or ask the operator to define the upstream`,
        )
    if (entry.srv !== undefined)
      report(
        'P408',
        [name, 'srv'],
        'an upstream of a policy source cannot have srv: the records could contain any address',
        'use url or urls, or ask the operator to define the upstream',
      )
    for (const [url, at] of addressesWithPaths(name, entry))
      if (!isPermitted(url, permissions.addresses))
        report(
          'P407',
          at,
          `source ${source.name} may not use the address ${url}`,
          permissions.addresses.length === 0
            ? 'the permissions of the source contain no address'
            : `permitted: ${permissions.addresses.join(', ')}`,
        )
  }
  return value
}

function addressesWithPaths(name: string, entry: UpstreamEntry): readonly (readonly [string, YamlPath])[] {
  return entry.urls === undefined
    ? addressesOf(entry).map((url) => [url, [name, entry.srv === undefined ? 'url' : 'srv']] as const)
    : entry.urls.map((url, index) => [url, [name, 'urls', index]] as const)
}

/** Returns whether an address has the scheme, host, port and path of a permitted address, or is below this path. */
function isPermitted(address: string, permitted: readonly string[]): boolean {
  if (!URL.canParse(address)) return false
  const { origin, pathname } = new URL(address)
  if (!PLAIN_PATH.test(pathname)) return false
  return permitted.some((one) => {
    const allowed = new URL(one)
    const base = allowed.pathname.replace(/\/$/, '')
    return origin === allowed.origin && `${pathname}/`.startsWith(`${base}/`)
  })
}

function readScopes(
  source: PolicySource,
  text: TextSource,
  { found, catalogue }: { readonly found: Diagnostic[]; readonly catalogue: ScopeCatalogue | undefined },
): ScopeCatalogue {
  const file = join(source.folder, SOURCE_SCOPES_FILE)
  const document = readYamlFile(file, { shownAs: displayPath(file), letter: 'C' }, text)
  const tooMany = findExcess(document)
  if (tooMany !== undefined) {
    found.push(tooMany)
    return NO_SCOPES
  }
  const { locationOf } = document
  const own = toScopeCatalogue(document)
  for (const [index, { name, implies = [] }] of [...own.values()].entries()) {
    const location = locationOf(['scopes', index, 'name'])
    const prefix = `${source.name}:`
    if (!name.startsWith(prefix))
      found.push(
        diagnostic('P409', `the scopes of source ${source.name} must begin with "${prefix}"`, location, {
          hint: `write ${prefix}${name.replace(/^.*:/, '')}`,
        }),
      )
    else if (!permitsScope(source.permissions, name))
      found.push(
        diagnostic('P409', `source ${source.name} may not define scope ${JSON.stringify(name)}`, location, {
          hint:
            source.permissions.scopes.length === 0
              ? 'the permissions of the source contain no scope'
              : `permitted: ${source.permissions.scopes.join(', ')}`,
        }),
      )
    else if (catalogue?.has(name) === true) {
      found.push(
        diagnostic(
          'P409',
          `the catalogue of the operator defines scope ${JSON.stringify(name)}, and takes precedence`,
          location,
          { severity: 'warning', hint: 'remove one of the two definitions' },
        ),
      )
      continue
    }
    // A scope of the operator can imply scopes of other sources. A scope of this source must therefore not imply a
    // scope of the operator.
    for (const [position, implied] of implies.entries())
      if (catalogue?.has(implied) === true)
        found.push(
          diagnostic(
            'P409',
            `${JSON.stringify(name)} implies ${JSON.stringify(implied)}, which the operator defines`,
            locationOf(['scopes', index, 'implies', position]),
            { hint: 'remove this entry of implies, or ask the operator to define both scopes' },
          ),
        )
  }
  return new Map([...own].filter(([name]) => catalogue?.has(name) !== true))
}

/**
 * Finds a file with too many entries. Runs first, because the cost of other checks depends on the number of entries.
 */
function findExcess({ value, locationOf }: YamlDocument): Diagnostic | undefined {
  const scopes: unknown = isRecord(value) ? value['scopes'] : undefined
  if (!Array.isArray(scopes)) return undefined
  const { scopes: maxScopes, implications } = SOURCE_LIMITS
  if (scopes.length > maxScopes)
    return excess(`the file has more than ${maxScopes} scopes`, locationOf(['scopes', maxScopes]))
  let count = 0
  for (const [index, scope] of scopes.entries()) {
    const implies: unknown = isRecord(scope) ? scope['implies'] : undefined
    if (Array.isArray(implies)) count += implies.length
    if (count > implications)
      return excess(
        `the file has more than ${implications} entries of implies`,
        locationOf(['scopes', index, 'implies']),
      )
  }
  return undefined
}
