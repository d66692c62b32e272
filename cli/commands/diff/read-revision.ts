import { spawn } from 'node:child_process'

type RevisionFile = { readonly path: string; readonly content: Buffer }

/** Access to one repository. `folder` is the working folder. */
export type Git = { readonly folder: string; readonly env: NodeJS.ProcessEnv }

const HASH = /^[0-9a-f]{40,64}$/
/** Regular files only. Symbolic links can point outside the revision, and submodules are other repositories. */
const ENTRY = /^100(?:644|755) blob ([0-9a-f]{40,64})\t(.*)$/s

/** A policy or its tests in a direct subfolder of the policy folder. The command ignores hidden folders. */
const NESTED_POLICY = /^(?![^/]*(?:\.policy|_test)\.yaml\/)[^./][^/]*\/[^./][^/]*(?:\.policy|_test)\.yaml$/

/** Returns the root folder of the repository as an absolute path. Undefined outside a repository. */
export async function findRepository(git: Git): Promise<string | undefined> {
  const result = await runGit(['rev-parse', '--show-toplevel'], git)
  return 'output' in result ? result.output.toString('utf8').replace(/\n$/, '') : undefined
}

/** Resolves a name to a commit; undefined for an unknown name. Git never interprets a name as an option. */
export async function findCommit(revision: string, git: Git): Promise<string | undefined> {
  if (revision === '' || revision.startsWith('-')) return undefined
  const args = ['rev-parse', '--verify', '--quiet', '--end-of-options', `${revision}^{commit}`]
  const result = await runGit(args, git)
  const hash = 'output' in result ? result.output.toString('utf8').trim() : ''
  return HASH.test(hash) ? hash : undefined
}

/**
 * Reads the files directly in a folder of a commit, and the policies and tests in its direct subfolders.
 * @param folder relative to the repository, without a trailing slash; empty for the repository itself.
 * @returns files with their paths relative to `folder`.
 */
export async function readRevisionFolder(
  commit: string,
  folder: string,
  git: Git,
): Promise<{ readonly files: readonly RevisionFile[] } | { readonly failed: string }> {
  const prefix = folder === '' ? '' : `${folder}/`
  const below = folder === '' ? [] : ['--', prefix]
  const list = ['--literal-pathspecs', 'ls-tree', '-r', '-z', '--full-tree', commit, ...below]
  const listed = await runGit(list, git)
  if ('failed' in listed) return listed
  const entries = listed.output
    .toString('utf8')
    .split('\0')
    .flatMap((line) => {
      const [, hash, path] = ENTRY.exec(line) ?? []
      if (hash === undefined || path === undefined) return []
      const name = path.slice(prefix.length)
      return !name.includes('/') || NESTED_POLICY.test(name) ? [{ hash, path: name }] : []
    })
  const input = entries.map(({ hash }) => `${hash}\n`).join('')
  const result: GitResult = await runGit(['cat-file', '--batch'], { ...git, input })
  if ('failed' in result) return result
  const contents = splitBatch(result.output)
  return { files: entries.map(({ path }, index) => ({ path, content: contents[index] ?? Buffer.alloc(0) })) }
}

/** Splits output that repeats this format: `<hash> blob <size>`, a line break, the bytes, a line break. */
function splitBatch(output: Buffer): readonly Buffer[] {
  const contents: Buffer[] = []
  for (let at = 0; at < output.length; ) {
    const end = output.indexOf(0x0a, at)
    if (end === -1) break
    const size = Number(output.toString('latin1', at, end).split(' ')[2] ?? 0)
    contents.push(output.subarray(end + 1, end + 1 + size))
    at = end + 1 + size + 1
  }
  return contents
}

type GitResult = { readonly output: Buffer } | { readonly failed: string }

const LIMIT_BYTES = 64 * 1024 * 1024
const TIMEOUT_MS = 30_000

/**
 * Runs a read-only git command without a shell. Git neither fetches objects nor prompts for a password. Ends git after
 * `TIMEOUT_MS` or `LIMIT_BYTES` of output.
 * @param input standard input of the command.
 */
function runGit(
  args: readonly string[],
  options: { readonly folder: string; readonly env: NodeJS.ProcessEnv; readonly input?: string },
): Promise<GitResult> {
  const { folder, env, input = '' } = options
  return new Promise((resolve) => {
    const parts: Buffer[] = []
    let bytes = 0
    let errors = ''
    // spawn() throws for an argument that contains NUL.
    if (args.some((one) => one.includes('\0'))) {
      resolve({ failed: 'a name contains a NUL character' })
      return
    }
    const child = spawn('git', args, {
      cwd: folder,
      env: { ...env, GIT_TERMINAL_PROMPT: '0', GIT_NO_LAZY_FETCH: '1', GIT_OPTIONAL_LOCKS: '0', LC_ALL: 'C' },
      stdio: 'pipe',
      timeout: TIMEOUT_MS,
    })
    child.stdout.on('data', (part: Buffer) => {
      bytes += part.length
      if (bytes > LIMIT_BYTES) child.kill()
      else parts.push(part)
    })
    child.stderr.setEncoding('utf8').on('data', (part: string) => {
      if (errors.length < 2_000) errors += part
    })
    child.on('error', (error: NodeJS.ErrnoException) =>
      resolve({ failed: error.code === 'ENOENT' ? 'git is not installed' : error.message }),
    )
    child.on('close', (code) => {
      if (code === 0) resolve({ output: Buffer.concat(parts) })
      else resolve({ failed: errors.trim().split('\n')[0] ?? '' })
    })
    // Git can exit before it has read all input.
    child.stdin.on('error', () => undefined)
    child.stdin.end(input)
  })
}
