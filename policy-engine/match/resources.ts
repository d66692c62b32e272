import { ENDPOINTS } from '../../oauth/endpoints.ts'
import { protectedResourceMetadataPath } from '../../oauth/metadata.ts'
import { type PathTemplate, parsePathTemplate } from './path-template.ts'
import type { Resource } from './resource.ts'

/** What configuration says about a resource; what it leaves out is that of the whole API. */
export type ResourceSettings = {
  /** `/` is the base URL itself. */
  readonly path: string
  readonly name?: string | undefined
  readonly issuers?: readonly string[] | undefined
  /** Scopes that clients request first. */
  readonly scopes?: readonly string[] | undefined
  readonly documentation?: string | undefined
  readonly policy?: string | undefined
  readonly terms?: string | undefined
}

/** Every resource behind one gateway. Each path lies in exactly one. */
export type Resources = {
  /** The base URL itself, whatever lies in no other. */
  readonly root: Resource
  /** The root first, then in the order of the configuration. */
  readonly all: readonly Resource[]
  /** The resource whose path is the longest one that a canonical path equals or lies below, by whole segments. */
  of(path: string): Resource
  /** Every resource that a path of the template could lie in, the longest path first. Never empty. */
  ofTemplate(template: string): readonly Resource[]
}

/** What resources are made of. Plain data. */
export type ResourcesOptions = {
  /** Without a trailing slash. */
  readonly baseUrl: string
  readonly name: string
  /** Every issuer there is, in order. */
  readonly issuers: readonly string[]
  /** Whether the gateway leads to an authorization server, which issues tokens under the base URL. */
  readonly bundledAuthorizationServer: boolean
  readonly resources: readonly ResourceSettings[]
}

/** Makes the resources of a gateway, once. Pure. */
export function compileResources(options: ResourcesOptions): Resources {
  const { baseUrl } = options
  const compile = (path: string, settings: Partial<ResourceSettings> = {}): Resource => {
    const issuers = Object.freeze([...(settings.issuers ?? options.issuers)])
    const isOwn = options.bundledAuthorizationServer && issuers.length === 1 && issuers[0] === baseUrl
    return Object.freeze({
      identifier: baseUrl + path,
      path,
      name: settings.name ?? options.name,
      issuers,
      baselineScopes: settings.scopes,
      documentation: settings.documentation ?? `${baseUrl}/auth.md`,
      policy: settings.policy,
      terms: settings.terms,
      metadataPath: protectedResourceMetadataPath(path),
      metadataUrl: baseUrl + protectedResourceMetadataPath(path),
      tokenEndpoint: isOwn ? baseUrl + ENDPOINTS.token : undefined,
    })
  }
  const root = compile(
    '',
    options.resources.find(({ path }) => path === '/'),
  )
  const parts = options.resources
    .filter(({ path }) => path !== '/')
    .map((settings) => compile(settings.path, settings))
  const longestFirst = parts.toSorted((a, b) => b.path.length - a.path.length)
  const isIn = (path: string, resource: Resource): boolean =>
    path.startsWith(resource.path) &&
    (path.length === resource.path.length || path[resource.path.length] === '/')
  return Object.freeze({
    root,
    all: Object.freeze([root, ...parts]),
    of: (path: string) => longestFirst.find((resource) => isIn(path, resource)) ?? root,
    ofTemplate(template: string) {
      const parsed = parsePathTemplate(template)
      if ('problem' in parsed) throw new Error(`route path "${template}": ${parsed.problem}`)
      const met: Resource[] = []
      for (const resource of longestFirst) {
        const meets = meet(parsed, resource.path.slice(1).split('/'))
        if (meets !== 'never') met.push(resource)
        // Every path of the template lies in this one: shorter ones get nothing.
        if (meets === 'always') return met
      }
      return [...met, root]
    },
  })
}

/** Whether paths of a template lie at or below the path of these segments. */
function meet({ segments, below }: PathTemplate, path: readonly string[]): 'always' | 'sometimes' | 'never' {
  let sure = true
  for (const [at, literal] of path.entries()) {
    const own = segments[at]
    // Shorter than the path: what `**` stands for could be the rest of it.
    if (own === undefined) return below ? 'sometimes' : 'never'
    if ('parameter' in own) sure = false
    else if (own.literal !== literal) return 'never'
  }
  return sure ? 'always' : 'sometimes'
}
