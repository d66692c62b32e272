import { isRecord } from '../../platform/diagnostics/record.ts'
import { suggest } from '../../platform/diagnostics/schema/suggest.ts'
import { readTextFile } from '../../platform/diagnostics/yaml/read-text-file.ts'
import { parseYaml } from '../../platform/diagnostics/yaml/yaml-document.ts'
import { parseMount } from '../../policy-engine/load/mount.ts'
import { valueAt } from './plain-data.ts'
import type { ContractChoices } from './read-operations.ts'
import { readServerPath } from './read-prefix.ts'

/** The options of `import` for ambiguous parts of a contract, as typed. */
export type TypedChoices = {
  readonly scheme: string | undefined
  readonly server: string | undefined
  readonly prefix: string | undefined
  readonly scopeMap: readonly string[]
  readonly skipUnsupported: boolean
  readonly withEntries: boolean
}

/**
 * Validates the options against a contract.
 * @param root the contract; undefined when it is not valid.
 * @param resolve makes a file name absolute.
 * @returns the choices, or the problem with one of the options.
 */
export function readChoices(
  { scheme, server, prefix, scopeMap, ...flags }: TypedChoices,
  root: unknown,
  resolve: (file: string) => string,
): ContractChoices | { readonly wrong: string } {
  const schemes = Object.keys(valueAt(root, ['components', 'securitySchemes']) ?? {})
  if (scheme !== undefined && root !== undefined && !schemes.includes(scheme)) {
    const near = suggest(scheme, schemes)
    const hint = near === undefined ? `known: ${schemes.join(', ') || 'none'}` : `did you mean ${near}?`
    return { wrong: `--scheme: the contract has no security scheme ${JSON.stringify(scheme)}; ${hint}` }
  }
  const serverPath = server === undefined ? undefined : readServerPath(server)
  if (server !== undefined && serverPath === undefined)
    return {
      wrong: `--server: ${JSON.stringify(server)} is neither a URL such as https://api.example.com/v1 nor a path such as /v1`,
    }
  const mount = prefix === undefined ? undefined : parseMount(prefix)
  if (mount !== undefined && 'problem' in mount)
    return { wrong: `--prefix: ${mount.problem}${mount.hint === undefined ? '' : `; ${mount.hint}`}` }
  const renames = new Map<string, string>()
  for (const text of scopeMap) {
    const pairs = text.includes('=') ? readPair(text) : readPairs(resolve(text), text)
    if ('wrong' in pairs) return { wrong: `--scope-map: ${pairs.wrong}` }
    for (const [from, to] of pairs) renames.set(from, to)
  }
  return { scheme, serverPath, mount: prefix, renames, ...flags }
}

type Pairs = readonly (readonly [from: string, to: string])[] | { readonly wrong: string }

function readPair(text: string): Pairs {
  const [, from, to] = /^([^=]+)=(.+)$/.exec(text) ?? []
  return from === undefined || to === undefined
    ? { wrong: `${JSON.stringify(text)} is not FROM=TO` }
    : [[from, to]]
}

function readPairs(file: string, shownAs: string): Pairs {
  const read = readTextFile(file, { shownAs, letter: 'O' })
  if ('problem' in read) return { wrong: `${shownAs}: ${read.problem.message}` }
  const { value, diagnostics } = parseYaml(read.text, { shownAs, letter: 'O' })
  const [problem] = diagnostics.filter(({ severity }) => severity === 'error')
  if (problem !== undefined) return { wrong: `${shownAs}:${problem.location.line ?? 1}: ${problem.message}` }
  const pairs = Object.entries(isRecord(value) ? value : {})
  return !isRecord(value) || pairs.some(([, to]) => typeof to !== 'string' || to === '')
    ? { wrong: `${shownAs} is not a map of scopes: write FROM: TO` }
    : (pairs as readonly (readonly [string, string])[])
}
