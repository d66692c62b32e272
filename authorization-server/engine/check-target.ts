import { errors } from 'oidc-provider'
import { ONE_TARGET, unknownResource } from '../resource-errors.ts'

/**
 * Rejects a request for an unknown resource, or for several: one consent and one token are for one resource.
 * Source: RFC 8707 section 2.
 * @throws {InvalidTarget} which the engine sends to the client.
 */
export function checkTarget(asked: unknown, resource: string, resources: readonly string[]): void {
  if (Array.isArray(asked) && asked.length > 1) throw new errors.InvalidTarget(ONE_TARGET)
  if (!resources.includes(resource)) throw new errors.InvalidTarget(unknownResource(resources))
}
