import { basename } from 'node:path'
import { findConflicts } from '../gateway/routes/conflicts.ts'
import { checkDocument } from '../gateway/routes/load-policies.ts'
import type { PolicyFile } from '../gateway/routes/policy-file.ts'
import { POLICY_SUFFIX } from '../gateway/routes/policy-sources.ts'
import { NO_PRESETS, type Presets } from '../gateway/routes/presets.ts'
import { type Diagnostic, diagnostic, hasErrors, sortDiagnostics, wholeFile } from '../runtime/diagnostic.ts'
import { MAX_TEXT_BYTES } from '../runtime/text-source.ts'
import type { YamlDocument } from '../runtime/yaml-document.ts'
import { toContractPolicy } from './openapi/contract-policy.ts'
import { own, type PlainMap, valueAt } from './openapi/plain-data.ts'
import { type ContractChoices, EXTENSION, readOperations } from './openapi/read-operations.ts'
import { writePolicy } from './openapi/write-policy.ts'
import type { PolicyReferences } from './read-references.ts'

/** A policy made from a contract. */
export type Imported = {
  /** The file's text; undefined when something is wrong. */
  readonly text: string | undefined
  readonly routes: number
  /** The names of routes that are open to anonymous callers. */
  readonly open: readonly string[]
  readonly problems: readonly Diagnostic[]
}

/** What a policy is called and where it leads; undefined: the contract has to say. */
export type ImportNames = { readonly name: string | undefined; readonly upstream: string | undefined }

/** Makes a policy from a contract that has been read. Whatever is wrong is found in one run, at its place in the contract. */
export function importContract(
  document: YamlDocument,
  names: ImportNames,
  references: Omit<PolicyReferences, 'problems'>,
  choices: ContractChoices = {},
): Imported {
  const nothing = { text: undefined, routes: 0, open: [] }
  if (hasErrors(document.diagnostics)) return { ...nothing, problems: document.diagnostics }
  const { operations, diagnostics } = readOperations(document, choices)
  const head = headOf(document, names)
  const policy = toContractPolicy(document, operations, head)
  const found = [...document.diagnostics, ...diagnostics]
  if (operations.length > 0) {
    const checked = checkDocument(policy, references)
    found.push(...checked.diagnostics, ...findConflicts(checked.claims))
  }
  const problems = sortDiagnostics(found)
  if (hasErrors(problems)) return { ...nothing, problems }
  const text = writePolicy(
    policy.value as PlainMap,
    `Made from ${basename(document.file)} by scopegate import; scopegate import --check tells when they disagree.`,
  )
  const bytes = Buffer.byteLength(text)
  if (bytes <= MAX_TEXT_BYTES)
    return { text, routes: operations.length, open: openRoutes(policy.value, references.presets), problems }
  const tooLarge = diagnostic(
    'O106',
    `a policy of ${operations.length} routes has ${bytes} bytes, and a file may have ${MAX_TEXT_BYTES}`,
    wholeFile(document.file),
    { hint: 'split the contract, e.g. by tags' },
  )
  return { ...nothing, problems: [...problems, tooLarge] }
}

/** The names of routes that serve requests without a token. */
function openRoutes(policy: unknown, presets: Presets = NO_PRESETS): readonly string[] {
  const { routes, defaults } = policy as PolicyFile
  return routes
    .filter((route) => {
      const preset = presets.get(route.extends ?? defaults?.extends ?? '')
      const { anonymous, enforce } = { ...preset, ...defaults, ...route }
      return anonymous === 'allow' || enforce === 'report'
    })
    .map(({ name }) => name)
}

function headOf(document: YamlDocument, { name, upstream }: ImportNames) {
  const extension = own(document.value, EXTENSION)
  const said = (key: string) => {
    const value = own(extension, key)
    return typeof value === 'string' ? value : undefined
  }
  return {
    name: name ?? said('name') ?? nameFromTitle(valueAt(document.value, ['info', 'title'])),
    upstream: upstream ?? said('upstream') ?? '',
  }
}

function nameFromTitle(title: unknown): string {
  const plain = String(title ?? '')
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .replace(/^[^a-z]+|-+$/g, '')
    .slice(0, 63)
  return plain === '' ? 'imported' : plain
}

/** The name that a policy in this file should have: `courses` of `courses.policy.yaml`. */
export function nameFromFile(file: string | undefined): string | undefined {
  if (file === undefined) return undefined
  const name = basename(file)
  return name.endsWith(POLICY_SUFFIX) ? name.slice(0, -POLICY_SUFFIX.length) : undefined
}
