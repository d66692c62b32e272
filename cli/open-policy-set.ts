import { existsSync } from 'node:fs'
import { join } from 'node:path'
import type { GatewayConfig } from '../gateway/config/gateway-config.ts'
import type { GatewayFile } from '../gateway/config/gateway-file.ts'
import { readGatewayFile, UPSTREAMS_SECTION } from '../gateway/config/read-gateway-file.ts'
import { readSourceAdditions } from '../gateway/config/source-additions.ts'
import { toLimits } from '../gateway/config/to-gateway-config.ts'
import { toResources } from '../gateway/config/to-resources.ts'
import {
  addressesOf,
  credentialHeadersOf,
  type UpstreamEntry,
  UpstreamsFile,
} from '../gateway/config/upstreams-file.ts'
import { validateConfig } from '../gateway/config/validate.ts'
import { toPolicySources } from '../gateway/config/validate-policy-sources.ts'
import { findUnissuedResources } from '../gateway/config/validate-resources.ts'
import { type PolicyLocations, readPolicySources } from '../gateway/snapshot/reload/read-policy-sources.ts'
import { readImplication, type ScopeCatalogue } from '../oauth/scope.ts'
import { type ReadConfig, readConfig } from '../platform/config/read-config.ts'
import { readScopeCatalogue } from '../platform/config/read-scope-catalogue.ts'
import { BootError } from '../platform/diagnostics/boot-error.ts'
import { collectProblems } from '../platform/diagnostics/collect-problems.ts'
import { type Diagnostic, hasErrors } from '../platform/diagnostics/diagnostic.ts'
import { displayPath } from '../platform/diagnostics/display-path.ts'
import { formatDiagnostics } from '../platform/diagnostics/format-diagnostics.ts'
import { runSync } from '../platform/diagnostics/run-sliced.ts'
import { findEmptyResources, findUnknownBaselineScopes } from '../policy-engine/checks/check-resources.ts'
import type { CredentialHeaders } from '../policy-engine/checks/proxy-keys.ts'
import { type CompiledPolicies, compilePolicies } from '../policy-engine/decide/compile-policies.ts'
import { readPresets } from '../policy-engine/format/presets.ts'
import { authorizationServerFinder } from '../policy-engine/load/authorization-servers.ts'
import { type LoadedPolicies, loadPolicies } from '../policy-engine/load/load-policies.ts'
import {
  loadPolicySourcesSliced,
  type SourceOptions,
  type SourceState,
} from '../policy-engine/load/load-policy-sources.ts'
import {
  findPolicyFolders,
  type PolicyFolder,
  readFolder,
  type SourceFiles,
  TESTS_SUFFIX,
} from '../policy-engine/load/policy-sources.ts'
import type { OwnUpstream } from '../policy-engine/load/source-additions.ts'
import type { PolicySource } from '../policy-engine/load/source-permissions.ts'
import type { Resources } from '../policy-engine/match/resources.ts'
import type { ParsedArguments } from './command.ts'
import { problemToJson } from './commands/check/render-json.ts'
import type { Folders } from './find-folders.ts'
import type { MemoryFiles } from './memory-files.ts'
import type { OpenedSource } from './opened-source.ts'
import type { Terminal } from './terminal.ts'

const EXIT_USAGE = 2

/** Valid policies with their configuration. */
export type PolicySet = {
  /** The content of gateway.yaml, without defaults and conversions. */
  readonly gateway: GatewayFile
  readonly catalogue: ScopeCatalogue
  readonly resources: Resources
  /** The content of upstreams.yaml with overrides, and the upstreams of policy sources with the names in routes. */
  readonly upstreams: UpstreamsFile
  readonly credentialHeaders: CredentialHeaders
  /** The limits of gateway.yaml with overrides and defaults. */
  readonly limits: GatewayConfig['limits']
  readonly policies: LoadedPolicies
  readonly compiled: CompiledPolicies
  /** The state of each policy source. Empty without policy sources. */
  readonly sources: readonly SourceState[]
}

/** The result of reading the policies. `set` is undefined when the problems contain an error. */
export type OpenedPolicySet = {
  readonly set: PolicySet | undefined
  readonly problems: readonly Diagnostic[]
  /** All readable policies. When the policies are invalid, this object contains no routes. */
  readonly policies: LoadedPolicies
  /** The folders whose files affect the result. */
  readonly folders: readonly string[]
  /** The policy sources and their states. Empty without policy sources. */
  readonly sources: readonly OpenedSource[]
}

/** The folders to read, and the environment with overrides. Default: no overrides. */
export type OpenPolicySetOptions = {
  readonly configDir: string
  /** Overrides the folder that gateway.yaml names. */
  readonly policiesDir?: string | undefined
  /** Name of the only file in that folder to read. Default: all files. */
  readonly policyFile?: string | undefined
  /** Name of the only policy source to read. Default: all sources. */
  readonly source?: string | undefined
  readonly env?: Readonly<Record<string, string | undefined>> | undefined
  /** Contents of all files. With this option, the function does not access the file system. */
  readonly memoryFiles?: MemoryFiles | undefined
}

/**
 * Reads configuration and policies offline, as the services do at startup, and reports every problem of every file.
 * Needs no secrets and no network, so the commands can run where policies are reviewed.
 */
export async function openPolicySet(options: OpenPolicySetOptions): Promise<OpenedPolicySet> {
  const { env = {}, memoryFiles: files } = options
  const { found, attempt } = collectProblems()
  const config = (file: string) => join(options.configDir, file)
  const gateway = attempt(() =>
    readGatewayFile({ configDir: options.configDir, env, source: files?.read(config('gateway.yaml')) }),
  )
  const scopesFile = gateway?.value.scopes ?? config('scopes.yaml')
  const catalogue = attempt(() => readScopeCatalogue({ file: scopesFile, source: files?.read(scopesFile) }))
  const presetsFile = gateway?.value.presets
  const presets =
    presetsFile === undefined ? undefined : attempt(() => readPresets(presetsFile, files?.read(presetsFile)))
  const upstreamsFile = gateway?.value.upstreams ?? config('upstreams.yaml')
  const upstreams = attempt(() =>
    readConfig({
      file: upstreamsFile,
      schema: UpstreamsFile,
      env,
      section: UPSTREAMS_SECTION,
      source: files?.read(upstreamsFile),
    }),
  )
  const contradictions = validateConfig(
    gateway && { ...gateway, file: config('gateway.yaml') },
    upstreams && { value: upstreams.value, file: upstreamsFile },
  )
  // After an error here, the checks of resources do not run, because they would report further errors with the same
  // cause.
  const isClear = !hasErrors(contradictions)
  found.push(...contradictions, ...(await checkAuthorizationServer(options, gateway, isClear)))
  const findAuthorizationServers = authorizationServerFinderOf(gateway?.value, upstreams?.value)
  const references = {
    catalogue,
    presets,
    upstreams: upstreams === undefined ? undefined : new Set(Object.keys(upstreams.value)),
    addresses:
      upstreams === undefined
        ? undefined
        : new Map(namedAddresses(upstreams.value).map(({ name, urls }) => [name, urls])),
    authorizationServers: findAuthorizationServers?.(namedAddresses(upstreams?.value)),
    hasDecisions: gateway?.value.decisions !== undefined,
    readAdditions: (source: PolicySource, folder: PolicyFolder) =>
      readSourceAdditions(source, folder, {
        catalogue,
        findAuthorizationServers: findAuthorizationServers ?? (() => new Set()),
        toUpstream: (name, entry) => ({ name, urls: addressesOf(entry), entry }),
      }),
    withTestFiles: true,
  }
  const { policies, sources, dirs, scopes, ofSources } = await loadFrom(options, gateway?.value, references)
  const policyFolders = files === undefined ? dirs.map((dir) => findPolicyFolders(dir)) : []
  const folders = [options.configDir, ...(await Promise.all(policyFolders)).flat()]
  // If the presets cannot be read, every preset name and limit name is unknown. The function then omits the errors
  // about unknown names (P206, P207).
  const knowsPresets = gateway !== undefined && (presetsFile === undefined || presets !== undefined)
  found.push(
    ...policies.diagnostics.filter(({ code }) => knowsPresets || (code !== 'P206' && code !== 'P207')),
  )
  const gatewayFile = displayPath(config('gateway.yaml'))
  if (catalogue !== undefined)
    found.push(...findUnknownBaselineScopes(gateway?.value.resources ?? [], catalogue, gatewayFile))
  if (gateway === undefined || catalogue === undefined || hasErrors(policies.diagnostics))
    return { set: undefined, problems: found, policies, folders, sources }
  const resources = toResources(gateway.value)
  if (isClear) found.push(...findEmptyResources(resources, policies.routes, gatewayFile))
  if (hasErrors(found)) return { set: undefined, problems: found, policies, folders, sources }
  const all: ScopeCatalogue = new Map([...catalogue, ...scopes])
  const compiled = compilePolicies(policies, { implication: readImplication(all), resources })
  return {
    set: {
      gateway: gateway.value,
      catalogue: all,
      resources,
      upstreams: { ...upstreams?.value, ...ofSources },
      credentialHeaders: credentialHeadersOf(upstreams?.value ?? {}),
      limits: toLimits(gateway.value.limits),
      policies,
      compiled,
      sources: sources.map(({ state }) => state),
    },
    problems: found,
    policies,
    folders,
    sources,
  }
}

type LoadedFrom = Pick<OpenedPolicySet, 'policies' | 'sources'> & {
  readonly dirs: readonly string[]
  /** The scopes that policy sources define. */
  readonly scopes: ScopeCatalogue
  /** The upstreams that policy sources define, with the names in routes. */
  readonly ofSources: UpstreamsFile
}

type SourceUpstream = OwnUpstream & { readonly entry: UpstreamEntry }

/** Loads the policies of one folder, or of the policy sources of gateway.yaml. */
async function loadFrom(
  options: OpenPolicySetOptions,
  gateway: GatewayFile | undefined,
  references: SourceOptions<SourceUpstream>,
): Promise<LoadedFrom> {
  const { policiesDir, policyFile, memoryFiles: files } = options
  const all = gateway === undefined ? [] : toPolicySources(gateway)
  // The gateway hashes these files too.
  const others = { scopesFile: gateway?.scopes, presetsFile: gateway?.presets }
  const chosen = policyFile === undefined ? chooseSources(all, options) : undefined
  if (chosen !== undefined) return loadSources({ chosen, all, others, inMemory: files }, references)
  const dir = policiesDir ?? gateway?.policies ?? join(options.configDir, '..', 'policies')
  const sources = policyFile === undefined ? files?.list(dir) : { folder: { names: [policyFile] }, files: [] }
  const policies = loadPolicies({ ...references, dir, sources })
  const read = sources === undefined ? await readPolicySources({ policiesDir: dir, ...others }) : policies
  return {
    policies: { ...policies, hash: read.hash },
    sources: [],
    dirs: [dir],
    scopes: new Map(),
    ofSources: {},
  }
}

/**
 * Returns the policy sources to read. A folder in `policiesDir` that belongs to a source selects this source, so that
 * the permissions of the source apply.
 * @returns undefined for a folder that belongs to no source.
 * @throws {BootError} when gateway.yaml does not define the named source.
 */
function chooseSources(
  all: readonly PolicySource[],
  { policiesDir, source }: OpenPolicySetOptions,
): readonly PolicySource[] | undefined {
  if (source !== undefined) {
    const named = all.filter(({ name }) => name === source)
    if (named.length > 0) return named
    const known =
      all.length === 0 ? 'it has no policySources' : `known: ${all.map(({ name }) => name).join(', ')}`
    throw new BootError(
      'ERR_UNKNOWN_SOURCE',
      `scopegate: gateway.yaml has no policy source "${source}" (${known})`,
      {
        exitCode: EXIT_USAGE,
      },
    )
  }
  if (policiesDir === undefined) return all.length === 0 ? undefined : all
  const own = all.filter(({ folder }) => folder === policiesDir)
  return own.length === 0 ? undefined : own
}

async function loadSources(
  {
    chosen,
    all,
    others,
    inMemory,
  }: {
    readonly chosen: readonly PolicySource[]
    readonly all: readonly PolicySource[]
    readonly others: Pick<PolicyLocations, 'scopesFile' | 'presetsFile'>
    readonly inMemory: MemoryFiles | undefined
  },
  references: SourceOptions<SourceUpstream>,
): Promise<LoadedFrom> {
  const read =
    inMemory === undefined
      ? await readPolicySources({ policiesDir: '', policySources: chosen, ...others })
      : { hash: '', sources: chosen.map((one) => listSource(one, inMemory)) }
  const files = (read.sources ?? []).map((one, index) => ({
    ...one,
    current: inMemory === undefined ? withTestFiles(one.current, chosen[index]?.folder ?? '') : one.current,
  }))
  const loaded = runSync(loadPolicySourcesSliced(files, all, references))
  const isBroken = hasErrors(loaded.diagnostics)
  const policies: LoadedPolicies = {
    routes: isBroken ? [] : loaded.routes,
    tests: isBroken ? [] : loaded.tests,
    hash: read.hash,
    diagnostics: loaded.diagnostics,
  }
  const sources = loaded.states.flatMap((state) => {
    const source = chosen.find(({ name }) => name === state.name)
    return source === undefined ? [] : [{ source, state }]
  })
  return {
    policies,
    sources,
    dirs: chosen.map(({ folder }) => folder),
    scopes: loaded.scopes,
    ofSources: Object.fromEntries(loaded.upstreams.map(({ name, entry }) => [name, entry])),
  }
}

function listSource({ name, folder }: PolicySource, files: MemoryFiles): SourceFiles {
  return { name, folder, current: files.list(folder), lastValid: undefined }
}

/** Adds the names of the test files, which the gateway does not read. */
function withTestFiles({ folder, files }: PolicyFolder, dir: string): PolicyFolder {
  const listed = readFolder(dir)
  if ('code' in folder || 'code' in listed) return { folder, files }
  const tests = listed.names.filter((name) => name.endsWith(TESTS_SUFFIX))
  return { folder: { names: [...folder.names, ...tests].toSorted() }, files }
}

/**
 * Checks the configuration of the authorization server if it exists, and whether this server issues tokens for the
 * resources of the gateway. Reports the variables that neither service uses.
 */
async function checkAuthorizationServer(
  { configDir, env = {}, memoryFiles: files }: OpenPolicySetOptions,
  gateway: ReadConfig<GatewayFile> | undefined,
  isClear: boolean,
): Promise<readonly Diagnostic[]> {
  const file = join(configDir, 'authorization-server.yaml')
  const ownVariables = gateway?.warnings ?? []
  if (!(files === undefined ? existsSync(file) : files.has(file))) return ownVariables
  const { found, attempt } = collectProblems()
  // Imported only if authorization-server.yaml exists, because the image of the gateway does not contain the code of the
  // authorization server.
  const { AuthorizationServerFile } = await import('../authorization-server/authorization-server-file.ts')
  const other = attempt(() =>
    readConfig({ file, schema: AuthorizationServerFile, env, source: files?.read(file) }),
  )
  if (isClear && gateway !== undefined && other !== undefined)
    found.push(
      ...findUnissuedResources(
        gateway.value,
        other.value.protectedResources ?? [],
        displayPath(join(configDir, 'gateway.yaml')),
      ),
    )
  // A variable is correct when at least one of the two services uses it.
  const unknownToBoth = new Set(other?.warnings.map((one) => one.location.file))
  found.push(...ownVariables.filter((one) => unknownToBoth.has(one.location.file)))
  return found
}

/** Returns the upstreams that lead to an authorization server. Undefined when a file cannot be read. */
export function authorizationServersOf(
  gateway: GatewayFile | undefined,
  upstreams: UpstreamsFile | undefined,
): ReadonlySet<string> | undefined {
  return authorizationServerFinderOf(gateway, upstreams)?.(namedAddresses(upstreams))
}

function namedAddresses(upstreams: UpstreamsFile = {}) {
  return Object.entries(upstreams).map(([name, entry]) => ({ name, urls: addressesOf(entry) }))
}

function authorizationServerFinderOf(gateway: GatewayFile | undefined, upstreams: UpstreamsFile | undefined) {
  if (gateway === undefined || upstreams === undefined) return undefined
  return authorizationServerFinder(namedAddresses(upstreams), {
    named: gateway.authorizationServer?.upstream,
    endpoints: gateway.issuers.flatMap(({ introspection }) =>
      introspection === undefined ? [] : [introspection.endpoint],
    ),
  })
}

/**
 * Opens the policies for a command that needs valid policies. Prints errors on standard error, or with `--json` on
 * standard output.
 * @returns undefined if the policies have errors. The command then exits with code 3.
 */
export async function openOrReport(
  folders: Folders,
  given: Pick<ParsedArguments, 'has'>,
  terminal: Terminal,
): Promise<PolicySet | undefined> {
  const opened: OpenedPolicySet = await openPolicySet({ ...folders, env: terminal.env })
  const errors: readonly Diagnostic[] = opened.problems.filter(({ severity }) => severity === 'error')
  if (errors.length > 0 && given.has('json'))
    terminal.out.write(`${JSON.stringify({ problems: errors.map(problemToJson) }, undefined, 2)}\n`)
  else if (errors.length > 0)
    terminal.err.write(`${formatDiagnostics(errors, { colour: terminal.colour })}\n`)
  return opened.set
}
