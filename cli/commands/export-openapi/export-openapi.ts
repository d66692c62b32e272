import { writeFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { buildOpenapi } from '../../../gateway/discovery/openapi.ts'
import type { JsonObject } from '../../../gateway/discovery/openapi-components.ts'
import { errorCode } from '../../../platform/diagnostics/error-code.ts'
import { formatDiagnostics } from '../../../platform/diagnostics/format-diagnostics.ts'
import { readPackageVersion } from '../../../platform/process/package-version.ts'
import type { PolicyRoute } from '../../../policy-engine/load/policy-route.ts'
import type { ParsedArguments } from '../../command.ts'
import { findFolders, noteShippedConfig } from '../../find-folders.ts'
import { openPolicySet, type PolicySet } from '../../open-policy-set.ts'
import { routeKeys } from '../../openapi/route-keys.ts'
import type { Terminal } from '../../terminal.ts'
import { problemToJson } from '../check/render-json.ts'

const EXIT_OK = 0
const EXIT_FAILED = 1
const EXIT_INVALID = 3

/** The document, and the routes that OpenAPI cannot represent. */
export type ExportResult = { readonly document: JsonObject; readonly leftOut: readonly PolicyRoute[] }

/**
 * Describes an API from its policies alone, in the format of the gateway's own `/openapi.json`.
 * @param options.withKeys adds the keys that OpenAPI cannot express, under `x-scopegate`, so that an import creates the
 * same routes.
 */
export function exportOpenapi(
  set: Pick<PolicySet, 'gateway' | 'catalogue' | 'policies' | 'compiled'>,
  options: { readonly version: string; readonly withKeys: boolean },
): ExportResult {
  const { gateway, catalogue, policies, compiled } = set
  const shown = new Set<PolicyRoute>()
  const document = buildOpenapi({
    baseUrl: gateway.baseUrl,
    name: gateway.name,
    version: options.version,
    bundledAuthorizationServer: gateway.authorizationServer !== undefined,
    catalogue,
    routes: policies.routes,
    match: (method, path) => {
      const match = compiled.match(method, path)
      return match.kind === 'route' ? { ...match, route: match.route.policy } : match
    },
    sources: [],
    extend: (route, method) => {
      shown.add(route)
      const keys = options.withKeys ? routeKeys(route, method) : {}
      return Object.keys(keys).length === 0 ? {} : { 'x-scopegate': keys }
    },
  })
  return { document, leftOut: policies.routes.filter((one) => !shown.has(one)) }
}

export async function runExport(given: ParsedArguments, terminal: Terminal): Promise<number> {
  const { out, err, folder, colour, env } = terminal
  const output = given.text('output')
  const folders = findFolders(given, terminal)
  noteShippedConfig(folders, terminal)
  const { set, problems } = await openPolicySet({ ...folders, env })
  if (set === undefined) {
    const errors = problems.filter((one) => one.severity === 'error')
    if (given.has('json'))
      out.write(`${JSON.stringify({ problems: errors.map(problemToJson) }, undefined, 2)}\n`)
    else err.write(`${formatDiagnostics(errors, { colour })}\n\n`)
    return EXIT_INVALID
  }
  const { document, leftOut } = exportOpenapi(set, {
    version: given.text('api-version') ?? readPackageVersion(),
    withKeys: given.has('x-scopegate'),
  })
  for (const { name } of leftOut)
    err.write(`${name} is omitted: OpenAPI allows only one operation for a method and a path\n`)
  const text = `${JSON.stringify(document, undefined, 2)}\n`
  if (output === undefined) {
    out.write(text)
    return EXIT_OK
  }
  try {
    writeFileSync(resolve(folder, output), text)
    return EXIT_OK
  } catch (error) {
    err.write(`scopegate: ${output} was not written: ${errorCode(error)}\n`)
    return EXIT_FAILED
  }
}
