import { formatDiagnostics } from '../../../platform/diagnostics/format-diagnostics.ts'
import type { ParsedArguments } from '../../command.ts'
import { usageError } from '../../failures.ts'
import { findFolders, noteShippedConfig } from '../../find-folders.ts'
import { fetchLivePolicies } from '../../live-policies.ts'
import type { Terminal } from '../../terminal.ts'
import { problemToJson } from '../check/render-json.ts'
import { comparePolicies } from './compare-policies.ts'
import { compareUpstreams } from './compare-upstreams.ts'
import { type OpenedSide, openSide, toSide } from './open-side.ts'
import { type ChangeKind, countChanges, renderDiff } from './render-diff.ts'

const EXIT_SAME = 0
const EXIT_DIFFERS = 1
const EXIT_INVALID = 3

export async function runDiff(given: ParsedArguments, terminal: Terminal): Promise<number> {
  const { out, err, colour } = terminal
  const live = given.text('live')
  const wanted = live === undefined ? 2 : 1
  if (given.positionals.length !== wanted) {
    const what = live === undefined ? 'OLD and NEW' : 'only NEW with --live'
    throw usageError('diff', `\`scopegate diff\` takes ${what}`)
  }
  const folders = findFolders(given, terminal)
  const where = { ...terminal, folders }
  const opened: OpenedSide[] = live === undefined ? [] : [await openLive(live)]
  for (const word of given.positionals) opened.push(await openSide(word, where))
  if (opened.some(({ configDir }) => configDir === folders.configDir))
    noteShippedConfig(folders, terminal, false)
  const unknown = opened.flatMap((one) => ('unknown' in one ? [one.unknown] : []))
  if (unknown.length > 0) throw usageError('diff', unknown.join('; '))
  const problems = opened.flatMap((one) => ('problems' in one ? one.problems : []))
  const [old, now] = opened.flatMap((one) => ('side' in one ? [one] : []))
  if (old === undefined || now === undefined) {
    if (given.has('json'))
      out.write(`${JSON.stringify({ problems: problems.map(problemToJson) }, undefined, 2)}\n`)
    else err.write(`${formatDiagnostics(problems, { colour })}\n\n`)
    return EXIT_INVALID
  }
  const diff = comparePolicies(old.side, now.side)
  const upstreams =
    old.upstreams === undefined || now.upstreams === undefined
      ? []
      : compareUpstreams(old.upstreams, now.upstreams)
  const counts = countChanges(diff.changes, upstreams)
  const isSame = diff.changes.length === 0 && upstreams.length === 0
  if (given.has('json')) {
    const changes = diff.changes.map((one) => ({ ...one, old: one.old ?? null, now: one.now ?? null }))
    const sides = { old: { hash: old.hash }, new: { hash: now.hash } }
    out.write(
      `${JSON.stringify({ same: isSame, counts, changes, upstreams, renamed: diff.renamed, ...sides }, undefined, 2)}\n`,
    )
  } else out.write(renderDiff(diff, { colour, upstreams }))
  const failOn = given.texts('fail-on') as readonly ChangeKind[]
  const fails = failOn.length === 0 ? !isSame : failOn.some((kind) => counts[kind] > 0)
  return fails ? EXIT_DIFFERS : EXIT_SAME
}

async function openLive(url: string): Promise<OpenedSide> {
  const { compiled, resources } = await fetchLivePolicies(url)
  return { side: toSide(compiled, resources), hash: compiled.hash, upstreams: undefined }
}
