import { createHash } from 'node:crypto'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import type { ScopeCatalogue } from '../../oauth/scope-catalogue.ts'
import {
  type Diagnostic,
  diagnostic,
  hasErrors,
  sortDiagnostics,
  wholeFile,
} from '../../runtime/diagnostic.ts'
import { displayPath } from '../../runtime/display-path.ts'
import { readTextFile } from '../../runtime/read-text-file.ts'
import { parseYaml, type YamlDocument } from '../../runtime/yaml-document.ts'
import { checkInternalPaths } from './check-internal-paths.ts'
import { checkReferences } from './check-references.ts'
import { checkRewrites } from './check-rewrites.ts'
import { checkWebsockets } from './check-websockets.ts'
import { findConflicts, findSameNames, type Named } from './conflicts.ts'
import { checkPolicyFile, type PolicyFile } from './policy-file.ts'
import type { PolicyRoute } from './policy-route.ts'
import { type Claim, readClaims } from './read-claims.ts'
import { toPolicyRoutes } from './to-policy-routes.ts'

const SUFFIX = '.policy.yaml'
const NONE: ReadonlySet<string> = new Set()

/** The policies of a folder. With an error among the diagnostics there are no routes at all: nothing is half applied. */
export type LoadedPolicies = {
  /** Frozen, in the order of files and of routes in a file. */
  readonly routes: readonly PolicyRoute[]
  /** SHA-256 of names and contents, in hexadecimal: the same for the same policies, wherever they lie. */
  readonly hash: string
  /** Everything that is wrong, sorted by file and line; `hasErrors` tells whether to go on. */
  readonly diagnostics: readonly Diagnostic[]
}

/**
 * Loads every `*.policy.yaml` of a folder: syntax, shape, references, conflicts; all problems in one run.
 * Without a catalogue or upstreams, references to them are not checked. Cost: synchronous reads of small files.
 */
export function loadPolicies(options: {
  readonly dir: string
  readonly catalogue?: ScopeCatalogue | undefined
  readonly upstreams?: ReadonlySet<string> | undefined
  /** Those of the upstreams that lead to the authorization server. */
  readonly authorizationServers?: ReadonlySet<string> | undefined
}): LoadedPolicies {
  const found = findPolicyFiles(options.dir)
  const diagnostics: Diagnostic[] = [...found.diagnostics]
  const hash = createHash('sha256')
  const documents: YamlDocument[] = []
  const claims: Claim[] = []
  for (const name of found.names) {
    const shownAs = displayPath(join(options.dir, name))
    const read = readTextFile(join(options.dir, name), { shownAs, letter: 'P' })
    if ('problem' in read) {
      diagnostics.push(read.problem)
      continue
    }
    hash.update(`${name.length}:${name}${read.text.length}:`).update(read.text)
    const document = parseYaml(read.text, { shownAs, letter: 'P' })
    diagnostics.push(...document.diagnostics)
    if (document.value === undefined) continue
    const read2 = checkDocument(document, options)
    diagnostics.push(...read2.diagnostics)
    claims.push(...read2.claims)
    documents.push(document)
  }
  diagnostics.push(
    ...findSameNames('P303', 'policy', documents.flatMap(policyName)),
    ...findConflicts(claims),
  )
  const broken = hasErrors(diagnostics)
  const routes = broken ? [] : documents.flatMap((one) => toPolicyRoutes(one.value as PolicyFile, one))
  return Object.freeze({
    routes: Object.freeze(routes),
    hash: hash.digest('hex'),
    diagnostics: sortDiagnostics(diagnostics),
  })
}

function checkDocument(
  document: YamlDocument,
  options: {
    readonly catalogue?: ScopeCatalogue | undefined
    readonly upstreams?: ReadonlySet<string> | undefined
    readonly authorizationServers?: ReadonlySet<string> | undefined
  },
): { claims: readonly Claim[]; diagnostics: readonly Diagnostic[] } {
  const shape = checkPolicyFile(document.value, document.placeOf)
  const references = checkReferences(document, { catalogue: options.catalogue, upstreams: options.upstreams })
  const { claims, diagnostics } = readClaims(document)
  const names = findSameNames('P304', 'route', routeNames(document))
  // Where the syntax already complained, the shape has nothing to add.
  const told = new Set(document.diagnostics.map((one) => `${one.place.line}:${one.place.column}`))
  const rest = [
    ...shape,
    ...references,
    ...diagnostics,
    ...checkRewrites(document),
    ...checkInternalPaths(document, options.authorizationServers ?? NONE),
    ...names,
    ...checkWebsockets(document),
  ]
  return { claims, diagnostics: rest.filter((one) => !told.has(`${one.place.line}:${one.place.column}`)) }
}

function findPolicyFiles(dir: string): { names: readonly string[]; diagnostics: readonly Diagnostic[] } {
  const place = wholeFile(displayPath(dir))
  try {
    // Hidden entries are Kubernetes' own (`..data`).
    const names = readdirSync(dir)
      .filter((name) => !name.startsWith('.'))
      .toSorted()
    const policies = names.filter((name) => name.endsWith(SUFFIX))
    const almost = names.filter((name) => /\.ya?ml$/i.test(name) && !name.endsWith(SUFFIX))
    const diagnostics = almost.map((name) =>
      diagnostic(
        'P006',
        `this file is not read: its name does not end in ${SUFFIX}`,
        wholeFile(displayPath(join(dir, name))),
        {
          severity: 'warning',
          hint: 'rename it, or move it elsewhere',
        },
      ),
    )
    if (policies.length === 0) {
      diagnostics.push(
        diagnostic('P005', `there is no *${SUFFIX} in this folder`, place, {
          hint: 'without policies every request would be a 404',
        }),
      )
    }
    return { names: policies, diagnostics }
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : 'unknown error'
    const why =
      code === 'ENOENT'
        ? 'there is no such folder'
        : code === 'ENOTDIR'
          ? 'this is a file, not a folder'
          : `the folder cannot be read (${code})`
    return {
      names: [],
      diagnostics: [
        diagnostic('P001', why, place, {
          hint: 'the key "policies" of gateway.yaml names it, or --policies does',
        }),
      ],
    }
  }
}

function policyName(document: YamlDocument): readonly Named[] {
  const name = (document.value as { name?: unknown } | null)?.name
  return typeof name === 'string' ? [{ name, place: document.placeOf(['name']) }] : []
}

function routeNames(document: YamlDocument): readonly Named[] {
  const routes = (document.value as { routes?: unknown } | null)?.routes
  if (!Array.isArray(routes)) return []
  return routes.flatMap((route: { name?: unknown } | null, index) =>
    typeof route?.name === 'string'
      ? [{ name: route.name, place: document.placeOf(['routes', index, 'name']) }]
      : [],
  )
}
