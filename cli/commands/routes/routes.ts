import { visibleText } from '../../../platform/diagnostics/visible-text.ts'
import { formatScopeRule } from '../../../policy-engine/decide/describe-rules.ts'
import type { PolicyRoute } from '../../../policy-engine/load/policy-route.ts'
import type { ParsedArguments } from '../../command.ts'
import { openSimulationPolicies } from '../../simulate/open-simulation-policies.ts'
import type { Terminal } from '../../terminal.ts'

const EXIT_INVALID = 3
const HEADINGS = ['METHODS', 'PATH', 'SCOPES', 'ANONYMOUS', 'ENFORCE', 'UPSTREAM', 'OWNER', 'ROUTE', 'PLACE']

export async function routes(given: ParsedArguments, terminal: Terminal): Promise<number> {
  const policies = await openSimulationPolicies('routes', given, terminal)
  if (policies === undefined) return EXIT_INVALID
  const [owner, source] = [given.text('owner'), given.text('source')]
  const listed = policies.compiled.routes
    .map(({ policy }) => policy)
    .filter((route) => owner === undefined || route.owner === owner)
    .filter((route) => source === undefined || route.policySource === source)
    .toSorted((a, b) => compare(a.path, b.path) || compare(a.methods.join(), b.methods.join()))
  if (given.has('json')) {
    const { hash } = policies.compiled
    terminal.out.write(`${JSON.stringify({ hash, routes: listed }, undefined, 2)}\n`)
  } else terminal.out.write(renderRoutes(listed))
  return 0
}

export function renderRoutes(listed: readonly PolicyRoute[]): string {
  const hasSources = listed.some(({ policySource }) => policySource !== undefined)
  const headings = hasSources ? ['SOURCE', ...HEADINGS] : HEADINGS
  const cellsOf = (route: PolicyRoute) =>
    hasSources ? [route.policySource ?? '-', ...toCells(route)] : toCells(route)
  const rows = [headings, ...listed.map((route) => cellsOf(route).map(visibleText))]
  const widths = headings.map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)))
  const lines = rows.map((row) =>
    row
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join('  ')
      .trimEnd(),
  )
  return `${lines.join('\n')}\n\n${listed.length} route${listed.length === 1 ? '' : 's'}\n`
}

function toCells(route: PolicyRoute): readonly string[] {
  const { file, line, column } = route.source
  const headers = route.matchHeaders.map(({ name, value }) => ` ${name}: ${value}`).join('')
  const conditions = route.when.length === 0 ? '' : ` when ${route.when.map(({ claim }) => claim).join(', ')}`
  return [
    route.methods.join(','),
    `${route.path}${headers}`,
    `${route.scopes === undefined ? '-' : formatScopeRule(route.scopes)}${conditions}`,
    route.anonymous,
    route.enforce,
    route.rewritePath === undefined ? (route.upstream ?? '-') : `${route.upstream} ${route.rewritePath}`,
    route.owner ?? '-',
    route.name,
    `${file}:${line}:${column}`,
  ]
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0
}
