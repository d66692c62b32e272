import { Document } from 'yaml'
import type { ScopeCatalogue, ScopeDescription } from '../../oauth/scope.ts'
import { isRecord } from '../../platform/diagnostics/record.ts'
import { own, valueAt } from './plain-data.ts'
import type { Operation } from './read-operations.ts'

const MAX_DESCRIPTION = 256
const MAX_GROUP = 64
/** RFC 6749 section 3.3, and the limit of config/scopes.yaml. */
const SCOPE_NAME = /^[\x21\x23-\x5b\x5d-\x7e]{1,256}$/
const READING = ['GET', 'HEAD', 'OPTIONS']

/**
 * Returns catalogue entries for scopes that operations require but the catalogue does not contain. The description is
 * from the contract. A scope has the sensitivity `read` when all its operations are GET, HEAD or OPTIONS.
 * @param rename returns the catalogue name of a scope of the contract.
 */
export function catalogueEntries(
  root: unknown,
  operations: readonly Operation[],
  catalogue: ScopeCatalogue,
  rename: (scope: string) => string,
): readonly ScopeDescription[] {
  const descriptions = new Map(describedScopes(root).map(([name, text]) => [rename(name), text]))
  const group = firstCharacters(valueAt(root, ['info', 'title']), MAX_GROUP) ?? 'Imported'
  const used = operations.flatMap(({ access, method }) =>
    [...(access.scopes?.all ?? []), ...(access.scopes?.any ?? [])].map((name) => ({ name, method })),
  )
  return [...Map.groupBy(used, ({ name }) => name)]
    .filter(([name]) => !catalogue.has(name) && SCOPE_NAME.test(name))
    .map(([name, uses]) => ({
      name,
      description: firstCharacters(descriptions.get(name), MAX_DESCRIPTION) ?? name,
      group,
      sensitivity: uses.every(({ method }) => READING.includes(method)) ? 'read' : 'write',
    }))
}

/** Formats entries as a file with the structure of config/scopes.yaml. */
export function writeCatalogue(entries: readonly ScopeDescription[], contract: string): string {
  const comment = `# Created from ${contract} by scopegate import --catalogue. Review group and sensitivity, and add the entries to config/scopes.yaml.`
  return `${comment}\n${new Document({ scopes: entries }).toString({ lineWidth: 0 })}`
}

/** OpenAPI 3.1 section 4.8.28: each flow has its scopes with a description. */
function describedScopes(root: unknown): readonly (readonly [string, unknown])[] {
  const schemes = valueAt(root, ['components', 'securitySchemes'])
  return Object.values(isRecord(schemes) ? schemes : {}).flatMap((scheme) => {
    const flows = own(scheme, 'flows')
    return Object.values(isRecord(flows) ? flows : {}).flatMap((flow) => {
      const scopes = own(flow, 'scopes')
      return Object.entries(isRecord(scopes) ? scopes : {})
    })
  })
}

function firstCharacters(text: unknown, length: number): string | undefined {
  const plain = typeof text === 'string' ? text.replace(/\s+/g, ' ').trim() : ''
  return plain === '' ? undefined : plain.slice(0, length)
}
