import { compileResources, type ResourceSettings, type Resources } from '../routes/resources.ts'

/** Makes the resources that a file tells of, or a configuration that was made of one. */
export function toResources(from: {
  readonly baseUrl: string
  readonly name: string
  readonly issuers: readonly { readonly issuer: string }[]
  readonly authorizationServer?: object | undefined
  readonly resources?: readonly ResourceSettings[] | undefined
}): Resources {
  return compileResources({
    baseUrl: from.baseUrl,
    name: from.name,
    issuers: from.issuers.map(({ issuer }) => issuer),
    bundledAuthorizationServer: from.authorizationServer !== undefined,
    resources: from.resources ?? [],
  })
}
