import { ENDPOINTS } from '../../oauth/endpoints.ts'
import { protectedResourceMetadataPath } from '../../oauth/metadata.ts'
import { type PathTemplate, readPathTemplate } from './path-template.ts'

/** Configuration of a resource. For an absent field, the value of the whole API applies. */
export type ResourceSettings = {
  /** Path of the resource. `/` is the base URL. */
  readonly path: string
  readonly name?: string | undefined
  readonly issuers?: readonly string[] | undefined
  /** Scopes that clients request first. */
  readonly scopes?: readonly string[] | undefined
  readonly documentation?: string | undefined
  readonly policy?: string | undefined
  readonly terms?: string | undefined
}

/** All resources of one gateway. Each path lies in exactly one resource. */
export type Resources = {
  /** The resource of the base URL. All paths that lie in no other resource lie in this resource. */
  readonly root: Resource
  /** The root is first. The other resources follow in the order of the configuration. */
  readonly all: readonly Resource[]
  /**
   * Returns the resource of a canonical path. This is the resource with the longest path that equals the canonical path
   * or contains the canonical path by whole segments.
   */
  of(path: string): Resource
  /** Returns all resources in which paths of the template can lie, the longest path first. Never empty. */
  ofTemplate(template: string): readonly Resource[]
}

export type ResourcesOptions = {
  /** Base URL of the gateway, without a trailing slash. */
  readonly baseUrl: string
  readonly name: string
  /** All issuers, in order. */
  readonly issuers: readonly string[]
  /** Whether the gateway forwards to the bundled authorization server, which issues tokens under the base URL. */
  readonly bundledAuthorizationServer: boolean
  readonly resources: readonly ResourceSettings[]
}

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
      const parsed = readPathTemplate(template)
      const found: Resource[] = []
      for (const resource of longestFirst) {
        const relation = fits(parsed, resource.path.slice(1).split('/'))
        if (relation !== 'never') found.push(resource)
        // All paths of the template lie in this resource, so resources with shorter paths do not apply.
        if (relation === 'always') return found
      }
      return [...found, root]
    },
  })
}

/** Returns whether paths of a template lie at or below the path with these segments. */
export function fits(
  { segments, below }: PathTemplate,
  path: readonly string[],
): 'always' | 'sometimes' | 'never' {
  let sure = true
  for (const [at, literal] of path.entries()) {
    const own = segments[at]
    // The template is shorter than the path of the resource, but `**` can match the remaining segments.
    if (own === undefined) return below ? 'sometimes' : 'never'
    if ('parameter' in own) sure = false
    else if (own.literal !== literal) return 'never'
  }
  return sure ? 'always' : 'sometimes'
}

/**
 * Protected resource: the whole API, or a part of the API with a separate identifier. Metadata, challenges and token
 * checks all use this object.
 */
export type Resource = {
  /** RFC 8707 section 2: base URL and path, without a trailing slash. */
  readonly identifier: string
  /** Path of the resource. Empty for the base URL. */
  readonly path: string
  readonly name: string
  /**
   * Issuers whose tokens the resource accepts, in the order in which the gateway queries them.
   * Frozen, because the array object is the key of a set of issuers.
   */
  readonly issuers: readonly string[]
  /** Scopes in the metadata. undefined: the read scopes that the routes require. */
  readonly baselineScopes: readonly string[] | undefined
  readonly documentation: string
  /** URLs of the data usage policy and of the terms of service. undefined: absent from the metadata. */
  readonly policy: string | undefined
  readonly terms: string | undefined
  /** Path of the metadata of the resource. RFC 9728 section 3.1. */
  readonly metadataPath: string
  /** URL of the metadata of the resource. RFC 9728 section 5.1. */
  readonly metadataUrl: string
  /**
   * Token endpoint of the bundled authorization server. undefined: the resource also accepts tokens of other issuers,
   * or this server is not configured.
   */
  readonly tokenEndpoint: string | undefined
}
