import { findFolders } from './find-folders.ts'
import { fetchLivePolicies, type LivePolicies } from './live-policies.ts'
import { openOrReport } from './open-or-report.ts'
import type { Given } from './read-arguments.ts'
import type { Terminal } from './terminal.ts'
import { usageError } from './usage-error.ts'

/**
 * Opens the policies that `--url`, `--config` and `--policies` name.
 * @returns undefined when they are not valid, which has been said: exit code 3.
 * @throws {BootError} when a running gateway does not tell them, or two places were named.
 */
export async function openTrialPolicies(
  verb: string,
  given: Given,
  terminal: Terminal,
): Promise<LivePolicies | undefined> {
  const url = given.text('url')
  if (url === undefined) return openOrReport(findFolders(given, terminal), terminal)
  const other = ['config', 'policies'].find((name) => given.has(name))
  if (other !== undefined) throw usageError(verb, `either --url or --${other} names the policies, not both`)
  return fetchLivePolicies(url)
}
