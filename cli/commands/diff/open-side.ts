import { existsSync, mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, relative, resolve, sep } from 'node:path'
import { readGatewayFile } from '../../../gateway/config/read-gateway-file.ts'
import { collectProblems } from '../../../platform/diagnostics/collect-problems.ts'
import { type Diagnostic, hasErrors } from '../../../platform/diagnostics/diagnostic.ts'
import { displayPath } from '../../../platform/diagnostics/display-path.ts'
import type { CompiledPolicies } from '../../../policy-engine/decide/compile-policies.ts'
import { isFolder } from '../../../policy-engine/load/policy-sources.ts'
import type { Resources } from '../../../policy-engine/match/resources.ts'
import type { Folders } from '../../find-folders.ts'
import { openPolicySet } from '../../open-policy-set.ts'
import type { Terminal } from '../../terminal.ts'
import type { DiffSide } from './compare-policies.ts'
import type { UpstreamsSide } from './compare-upstreams.ts'
import { findCommit, findRepository, type Git, readRevisionFolder } from './read-revision.ts'

/** A side for the comparison, the problems in its files, or a message about an unknown argument. */
export type OpenedSide = (
  | {
      readonly side: DiffSide
      readonly hash: string
      /** Undefined: a running gateway does not publish its upstreams. */
      readonly upstreams: UpstreamsSide | undefined
    }
  | { readonly problems: readonly Diagnostic[] }
  | { readonly unknown: string }
) & {
  /** The folder of the configuration that the result depends on. */
  readonly configDir?: string
}

type Where = Pick<Terminal, 'folder' | 'env'> & { readonly folders: Folders }

/**
 * Opens one side of the comparison. `word` is one of the following:
 * - a folder of policies
 * - a folder that contains `config` and `policies`
 * - `REVISION:FOLDER`: the policies of a git revision
 * - `REVISION`: the policies of a git revision with the configuration of that revision
 *
 * Without a separate configuration, a side uses the current configuration.
 */
export async function openSide(word: string, where: Where): Promise<OpenedSide> {
  const dir = resolve(where.folder, word)
  if (word !== '' && isFolder(dir)) {
    const own = join(dir, 'config')
    if (existsSync(join(own, 'gateway.yaml'))) {
      const sources = sourceFolders(own, where)
      if (sources.length > 0) return open({ configDir: own, policiesDir: undefined }, where)
      if (existsSync(join(dir, 'policies')))
        return open({ configDir: own, policiesDir: join(dir, 'policies') }, where)
    }
    return open({ configDir: where.folders.configDir, policiesDir: dir }, where)
  }
  return openRevision(word, where)
}

/** @param root see `UpstreamsSide`. Default: the git repository of the configuration, or the folder that contains it. */
async function open(
  folders: { readonly configDir: string; readonly policiesDir: string | undefined },
  { env, folders: { source } }: Where,
  root?: string,
): Promise<OpenedSide> {
  const configDir = resolve(folders.configDir)
  const { set, problems } = await openPolicySet({ ...folders, source, env })
  if (set === undefined || hasErrors(problems))
    return { problems: problems.filter((one) => one.severity === 'error'), configDir }
  return {
    configDir,
    side: toSide(set.compiled, set.resources),
    hash: set.compiled.hash,
    upstreams: { upstreams: set.upstreams, configDir, root: root ?? (await rootOf(configDir, env)) },
  }
}

async function rootOf(configDir: string, env: NodeJS.ProcessEnv): Promise<string> {
  const repository = await findRepository({ folder: configDir, env })
  // Git resolves symbolic links.
  return repository === undefined
    ? dirname(configDir)
    : resolve(configDir, relative(realOr(configDir), repository))
}

/**
 * Creates a side. Two kinds of paths divide the requests of a route: the paths of resources, and the prefixes of other
 * policy sources, which the route excludes.
 */
export function toSide(policies: CompiledPolicies, resources: Resources): DiffSide {
  const resourcePaths = resources.all.map(({ path }) => path)
  const excluded = policies.routes.flatMap(({ policy }) => policy.excludedPrefixes ?? [])
  return {
    policies,
    resourcePaths: [...new Set([...resourcePaths, ...excluded])].filter((path) => path !== ''),
  }
}

/** Returns the folders of the policy sources of a configuration. Empty for a configuration that is not valid. */
function sourceFolders(configDir: string, { env }: Pick<Where, 'env'>): readonly string[] {
  const read = collectProblems().attempt(() => readGatewayFile({ configDir, env }))
  return read?.value.policySources?.map(({ folder }) => folder) ?? []
}

async function openRevision(word: string, where: Where): Promise<OpenedSide> {
  const { folder, env, folders } = where
  const git: Git = { folder, env }
  const root = await findRepository(git)
  if (root === undefined)
    return { unknown: `"${word}" is not a folder, and the current folder is not in a git repository` }
  const colon = word.indexOf(':', 1)
  const revision = colon === -1 ? word : word.slice(0, colon)
  const commit = await findCommit(revision, git)
  if (commit === undefined)
    return {
      unknown: `"${word}" is neither a folder nor a known git revision (in a shallow clone, run git fetch or set fetch-depth: 0)`,
    }
  const inRepository = (dir: string) => {
    const path = relative(root, realOr(dir))
    return path.startsWith('..') || path.startsWith(sep) ? undefined : path.split(sep).join('/')
  }
  const policies =
    colon === -1
      ? inRepository(folders.policiesDir ?? join(folders.configDir, '..', 'policies'))
      : inRepository(resolve(folder, word.slice(colon + 1)))
  if (policies === undefined)
    return {
      unknown: `the policies of "${word}" are outside of the repository`,
      configDir: resolve(folders.configDir),
    }
  const config = colon === -1 ? inRepository(folders.configDir) : undefined
  // The copy keeps the paths of the repository, so that relative paths in the files stay valid.
  const copy = mkdtempSync(join(tmpdir(), 'scopegate-diff-'))
  try {
    const wanted = [config ?? policies]
    let hasSources = false
    for (const path of wanted) {
      const read = await readRevisionFolder(commit, path, git)
      if ('failed' in read) return { unknown: `"${word}" cannot be read: ${read.failed}` }
      mkdirSync(join(copy, path), { recursive: true })
      for (const one of read.files) {
        mkdirSync(dirname(join(copy, path, one.path)), { recursive: true })
        writeFileSync(join(copy, path, one.path), one.content)
      }
      if (path !== config) continue
      const sources = sourceFolders(join(copy, config), where).map((dir) => relative(copy, dir))
      if (sources.some((dir) => dir.startsWith('..')))
        return { unknown: `a policy source of "${word}" is outside of the repository` }
      hasSources = sources.length > 0
      wanted.push(...(hasSources ? sources : [policies]))
    }
    const isOwn = config !== undefined && existsSync(join(copy, config, 'gateway.yaml'))
    const opened = await open(
      {
        configDir: isOwn ? join(copy, config) : folders.configDir,
        policiesDir: hasSources ? undefined : join(copy, policies),
      },
      where,
      isOwn ? copy : undefined,
    )
    return 'problems' in opened
      ? { ...opened, problems: opened.problems.map((one) => renamed(one, copy, revision)) }
      : opened
  } finally {
    rmSync(copy, { recursive: true, force: true })
  }
}

function realOr(dir: string): string {
  try {
    return realpathSync(dir)
  } catch {
    return dir
  }
}

/** Replaces the path of the temporary copy with the git revision. */
function renamed(one: Diagnostic, copy: string, revision: string): Diagnostic {
  const shown = displayPath(copy)
  const show = (file: string) => file.replace(`${shown}/`, `${revision}:`)
  return {
    ...one,
    location: { ...one.location, file: show(one.location.file) },
    related: one.related.map((other) => ({
      ...other,
      location: { ...other.location, file: show(other.location.file) },
    })),
  }
}
