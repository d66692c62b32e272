import { basename } from 'node:path'
import type { ScopeCatalogue, ScopeDescription } from '../../../oauth/scope.ts'
import { capPerCode } from '../../../platform/diagnostics/collect-problems.ts'
import {
  type Diagnostic,
  diagnostic,
  hasErrors,
  sortDiagnostics,
  wholeFile,
} from '../../../platform/diagnostics/diagnostic.ts'
import { MAX_TEXT_BYTES } from '../../../platform/diagnostics/yaml/text-source.ts'
import type { YamlDocument } from '../../../platform/diagnostics/yaml/yaml-document.ts'
import { checkReferences } from '../../../policy-engine/checks/check-references.ts'
import { findConflicts } from '../../../policy-engine/checks/find-conflicts.ts'
import type { PolicyFile } from '../../../policy-engine/format/policy-file.ts'
import { NO_PRESETS, type Presets } from '../../../policy-engine/format/presets.ts'
import { checkDocument } from '../../../policy-engine/load/load-policies.ts'
import { POLICY_SUFFIX } from '../../../policy-engine/load/policy-sources.ts'
import { catalogueEntries } from '../../openapi/catalogue-entries.ts'
import { toContractPolicy, writePolicy } from '../../openapi/contract-policy.ts'
import { own, type PlainMap, valueAt } from '../../openapi/plain-data.ts'
import {
  type ContractChoices,
  EXTENSION,
  readOperations,
  type SkippedOperation,
} from '../../openapi/read-operations.ts'
import { dropUnsupported, mergeByCause } from '../../openapi/reduce-problems.ts'
import type { PolicyReferences } from '../../read-references.ts'

export type ImportResult = {
  /** The text of the policy file. Undefined when there are errors. */
  readonly text: string | undefined
  readonly routes: number
  readonly open: readonly string[]
  readonly skipped: readonly SkippedOperation[]
  /** Entries for the scopes that the catalogue does not have, if requested. */
  readonly entries: readonly ScopeDescription[]
  readonly problems: readonly Diagnostic[]
}

/** The name and the upstream of a policy. Undefined: the import reads the name and the upstream from the contract. */
export type ImportNames = { readonly name: string | undefined; readonly upstream: string | undefined }

/** Creates a policy from a parsed contract. Reports all problems, each with its line in the contract. */
export function importContract(
  document: YamlDocument,
  names: ImportNames,
  references: Omit<PolicyReferences, 'problems'>,
  choices: ContractChoices = {},
): ImportResult {
  const nothing = { text: undefined, routes: 0, open: [], skipped: [], entries: [] }
  if (hasErrors(document.diagnostics)) return { ...nothing, problems: document.diagnostics }
  const read = readOperations(document, choices)
  const head = { ...headOf(document, names), mount: choices.mount }
  const dropped =
    choices.skipUnsupported === true
      ? dropUnsupported(document, read.operations, head, references)
      : { kept: read.operations, skipped: [] }
  const operations = dropped.kept
  const skipped = [...read.skipped, ...dropped.skipped]
  const policy = toContractPolicy(document, operations, head)
  const found = [...document.diagnostics, ...read.diagnostics]
  const { catalogue } = references
  const entries =
    choices.withEntries === true && catalogue !== undefined
      ? catalogueEntries(
          document.value,
          operations,
          catalogue,
          (scope) => choices.renames?.get(scope) ?? scope,
        )
      : []
  if (operations.length > 0) {
    const checked = checkDocument(policy, { ...references, catalogue: undefined })
    found.push(...checked.diagnostics.map(nameUpstreamOption), ...findConflicts(checked.claims))
    found.push(...unknownScopes(policy, catalogue, entries))
  } else if (skipped.length > 0)
    found.push(
      diagnostic(
        'O005',
        'a policy cannot express any operation of the document',
        document.locationOf(['paths'], 'key'),
      ),
    )
  const problems = capPerCode(sortDiagnostics(mergeByCause(found)))
  if (hasErrors(problems)) return { ...nothing, skipped, problems }
  const text = writePolicy(
    policy.value as PlainMap,
    `Created from ${basename(document.file)} by scopegate import. To compare both: scopegate import --check`,
  )
  const bytes = Buffer.byteLength(text)
  if (bytes <= MAX_TEXT_BYTES)
    return {
      text,
      routes: operations.length,
      open: openRoutes(policy.value, references.presets),
      skipped,
      entries,
      problems,
    }
  const tooLarge = diagnostic(
    'O106',
    `a policy of ${operations.length} routes has ${bytes} bytes, but a file must have at most ${MAX_TEXT_BYTES}`,
    wholeFile(document.file),
    { hint: 'split the contract, for example by tags' },
  )
  return { ...nothing, problems: [...problems, tooLarge] }
}

/** Adds the remedy to the problem of an import without an upstream. */
function nameUpstreamOption(one: Diagnostic): Diagnostic {
  return one.code === 'P106' && one.message === 'upstream is empty'
    ? { ...one, hint: '--upstream NAME sets the entry of upstreams.yaml' }
    : one
}

/** Returns P201 problems for unknown scopes, without a limit, because each scope is a separate cause. */
function unknownScopes(
  policy: YamlDocument,
  catalogue: ScopeCatalogue | undefined,
  entries: readonly ScopeDescription[],
): readonly Diagnostic[] {
  if (catalogue === undefined) return []
  const known = new Map([...catalogue, ...entries.map((entry) => [entry.name, entry] as const)])
  const found = checkReferences(policy, {
    catalogue: known,
    upstreams: undefined,
    hasDecisions: false,
    presets: NO_PRESETS,
  })
  return found
    .filter(({ code }) => code === 'P201')
    .map((one) => ({
      ...one,
      hint: `${one.hint}${one.hint?.endsWith('?') ? '' : ';'} --catalogue FILE writes an entry for the scope, --scope-map renames the scope`,
    }))
}

/** Returns the names of routes that forward requests without a token. */
function openRoutes(policy: unknown, presets: Presets = NO_PRESETS): readonly string[] {
  const { routes, defaults } = policy as PolicyFile
  return routes
    .filter((route) => {
      const preset = presets.byName.get(route.extends ?? defaults?.extends ?? '')
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

/** Returns the policy name for a file name: `courses` for `courses.policy.yaml`. Undefined for every other ending. */
export function nameFromFile(file: string | undefined): string | undefined {
  if (file === undefined) return undefined
  const name = basename(file)
  return name.endsWith(POLICY_SUFFIX) ? name.slice(0, -POLICY_SUFFIX.length) : undefined
}
