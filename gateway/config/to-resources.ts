import {
  compileResources,
  type ResourceSettings,
  type Resources,
  type ResourcesOptions,
} from '../../policy-engine/match/resources.ts'

type Configured = {
  readonly baseUrl: string
  readonly name: string
  readonly issuers: readonly { readonly issuer: string }[]
  readonly authorizationServer?: object | undefined
  readonly resources?: readonly ResourceSettings[] | undefined
}

/** Compiles the resources of a configuration file or of a validated configuration. */
export function toResources(from: Configured): Resources {
  return compileResources(toResourceOptions(from))
}

export function toResourceOptions(from: Configured): ResourcesOptions {
  return {
    baseUrl: from.baseUrl,
    name: from.name,
    issuers: from.issuers.map(({ issuer }) => issuer),
    bundledAuthorizationServer: from.authorizationServer !== undefined,
    resources: from.resources ?? [],
  }
}
