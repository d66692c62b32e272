import { spawn } from 'node:child_process'

export type GitAnswer = { readonly output: Buffer } | { readonly failed: string }

const LIMIT_BYTES = 64 * 1024 * 1024
const TIMEOUT_MS = 30_000

/**
 * Runs a read-only git command without a shell. Git neither fetches objects nor prompts for a password.
 * @param input standard input of the command.
 */
export function runGit(
  args: readonly string[],
  options: { readonly folder: string; readonly env: NodeJS.ProcessEnv; readonly input?: string },
): Promise<GitAnswer> {
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
