import { readFileSync } from 'node:fs'
import { readdir, realpath } from 'node:fs/promises'
import { join, relative, sep } from 'node:path'
import { readGatewayFile } from '../../../gateway/config/read-gateway-file.ts'
import { toPolicySources } from '../../../gateway/config/validate-policy-sources.ts'
import { BootError, ConfigError } from '../../../platform/diagnostics/boot-error.ts'
import { collectProblems } from '../../../platform/diagnostics/collect-problems.ts'
import type { Diagnostic } from '../../../platform/diagnostics/diagnostic.ts'
import { displayPath } from '../../../platform/diagnostics/display-path.ts'
import { readTextFile } from '../../../platform/diagnostics/yaml/read-text-file.ts'
import { isInside, readTextSourceInside } from '../../../platform/diagnostics/yaml/text-source.ts'
import { findPackageRoot } from '../../../platform/process/package-root.ts'
import { findPolicyFolders, POLICY_SUFFIX } from '../../../policy-engine/load/policy-sources.ts'
import { COPIED_FILES, STARTER_FILES, withoutDocumentReferences } from '../init/starter-files.ts'
import type { PlaygroundFile, PlaygroundInput } from './evaluate.ts'
import { MAX_CHARACTERS, MAX_FILES } from './form-limits.ts'

const EXIT_INVALID = 3

/** Returns the files of `scopegate init` that concern policies, and a request that they deny. */
export function readExample(): PlaygroundInput {
  const copied = COPIED_FILES.filter((name) => name !== 'config/authorization-server.yaml').map((name) => {
    const text = readFileSync(join(findPackageRoot(), name), 'utf8')
    return [name, withoutDocumentReferences(text)] as const
  })
  const starters = Object.entries(STARTER_FILES).filter(([name]) => name.endsWith('.yaml'))
  const files = [...starters, ...copied].map(([name, text]) => ({ name, text }))
  return { files: inOrder(files), request: 'PATCH /api/courses/42 --scope courses:read' }
}

/**
 * Reads the policies and the configuration of a folder, and creates a request to the first path of the first policy.
 * Reads no file outside of the folder, also through links.
 * @throws {BootError} when the folder has no config/gateway.yaml, or too many or too large files; exit code 3.
 */
export async function readProject(folder: string): Promise<PlaygroundInput> {
  const root = await realpath(folder).catch(() => folder)
  const names = await listFiles(root)
  if (!names.includes(GATEWAY_FILE))
    throw folderError(
      `${displayPath(folder)} contains no ${GATEWAY_FILE}. Create the files with: scopegate init`,
    )
  if (names.length > MAX_FILES)
    throw folderError(`${displayPath(folder)} has ${names.length} files, more than ${MAX_FILES}`)
  const files: PlaygroundFile[] = []
  const problems: Diagnostic[] = []
  for (const name of names) {
    const file = join(root, name)
    const source = await readTextSourceInside(root, file)
    const read = readTextFile(file, { shownAs: displayPath(file), letter: 'C' }, source)
    if ('problem' in read) problems.push(read.problem)
    else files.push({ name, text: read.text })
  }
  if (problems.length > 0) throw new ConfigError(problems)
  const characters = files.reduce((sum, { text }) => sum + text.length, 0)
  if (characters > MAX_CHARACTERS)
    throw folderError(`${displayPath(folder)} has ${characters} characters, more than ${MAX_CHARACTERS}`)
  const ordered = inOrder(files)
  return { files: ordered, request: findFirstRequest(ordered) }
}

function findFirstRequest(files: readonly PlaygroundFile[]): string {
  const policy = files.find(({ name }) => name.endsWith(POLICY_SUFFIX))?.text ?? ''
  const path = FIRST_PATH.exec(policy)?.[1] ?? '/'
  return `GET ${path.replace(/\{[^}]*\}|\*\*/g, '42')}`
}

/** A path with parameters in braces. */
const FIRST_PATH = /\bpath: *["']?(\/[^\s"',{}#]*(?:\{[^\s{}]*\}[^\s"',{}#]*)*)/

const GATEWAY_FILE = 'config/gateway.yaml'

/** Lists the YAML files in `config/`, and in the policy folders that gateway.yaml names, with `/` as separator. */
async function listFiles(root: string): Promise<readonly string[]> {
  const configDir = join(root, 'config')
  const gateway = collectProblems().attempt(() => readGatewayFile({ configDir, env: {} }))?.value
  const named = gateway === undefined ? [] : toPolicySources(gateway).map(({ folder }) => folder)
  const dirs = named.length > 0 ? named : [gateway?.policies ?? join(root, 'policies')]
  const inside = dirs.filter((dir) => isInside(root, dir))
  const folders = [configDir, ...(await Promise.all(inside.map((dir) => findPolicyFolders(dir)))).flat()]
  const found = await Promise.all(folders.map((dir) => listYaml(root, dir)))
  return [...new Set(found.flat())]
}

async function listYaml(root: string, dir: string): Promise<readonly string[]> {
  const names = await readdir(dir).catch(() => [])
  return names
    .filter((name) => /\.ya?ml$/i.test(name) && !name.startsWith('.'))
    .map((name) => relative(root, join(dir, name)).split(sep).join('/'))
}

/** Sorts policies before configuration. */
function inOrder(files: readonly PlaygroundFile[]): readonly PlaygroundFile[] {
  const rank = ({ name }: PlaygroundFile) => Number(name.startsWith('config/'))
  return files.toSorted((a, b) => rank(a) - rank(b) || (a.name < b.name ? -1 : 1))
}

function folderError(text: string): BootError {
  return new BootError('ERR_PLAYGROUND_FOLDER', `scopegate playground: ${text}`, { exitCode: EXIT_INVALID })
}
