import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { schemaFiles } from '../cli/commands/schema/schemas.ts'
import { COMMANDS } from '../cli/commands.ts'
import { formatReference } from '../cli/format-help.ts'
import { findPackageRoot } from '../platform/process/package-root.ts'
import { chartReference } from './chart-reference.ts'
import { chartSchema } from './chart-schema.ts'
import { configurationReference } from './configuration-reference.ts'
import { errorReference } from './error-reference.ts'
import { caddyHeaders, nginxHeaders } from './ingress-headers.ts'
import { logEventsReference } from './log-events-reference.ts'
import { policyReference } from './policy-reference.ts'
import { stableNamesReference } from './stable-names.ts'

export type GeneratedPage = { readonly file: string } & (
  | { readonly parts: Readonly<Record<string, string>> }
  | { readonly content: string }
)

/**
 * Returns every generated file, and every page with generated parts. A part is between `<!-- generated: NAME -->` and
 * `<!-- end -->`.
 */
export function generatedPages(): readonly GeneratedPage[] {
  return [
    { file: 'docs/policies.md', parts: policyReference() },
    { file: 'docs/configuration.md', parts: configurationReference() },
    { file: 'docs/command-line.md', parts: { commands: formatReference(COMMANDS) } },
    { file: 'docs/error-responses.md', parts: errorReference() },
    { file: 'helm/README.md', parts: { values: chartReference() } },
    { file: 'helm/values.schema.json', content: chartSchema() },
    { file: 'examples/decision-mode/nginx/remove-headers.conf', content: nginxHeaders() },
    { file: 'examples/decision-mode/caddy/remove-headers.caddy', content: caddyHeaders() },
    { file: 'docs/logs.md', parts: { events: logEventsReference() } },
    { file: 'docs/stable-names.md', parts: { lists: stableNamesReference() } },
    ...[...schemaFiles()].map(([file, content]) => ({ file, content })),
  ]
}

/**
 * Returns the current and the expected content of a page.
 * @throws {Error} if the markers of a part are missing, or if the markers name an unknown part.
 */
export function renderPage(page: GeneratedPage): {
  readonly is: string
  readonly shouldBe: string
} {
  const { file } = page
  const is = readFileSync(join(findPackageRoot(), file), 'utf8')
  if ('content' in page) return { is, shouldBe: page.content }
  const { parts } = page
  const left = new Set(Object.keys(parts))
  const shouldBe = is.replace(
    /(<!-- generated: (.+?) -->\n)[\s\S]*?(<!-- end -->)/g,
    (_whole, begin: string, name: string, end: string) => {
      const part = parts[name]
      if (part === undefined) throw new Error(`${file}: no generator writes the part "${name}"`)
      left.delete(name)
      return `${begin}\n${part}\n\n${end}`
    },
  )
  if (left.size > 0)
    throw new Error(
      `${file} has no markers for: ${[...left].join(', ')}. Add <!-- generated: NAME --> and <!-- end -->.`,
    )
  return { is, shouldBe }
}
