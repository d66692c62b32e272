import { execFileSync } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describeMachine } from './describe-machine.ts'
import { pairUp, ratioOfMinima } from './format-result.ts'
import type { RowResult } from './row.ts'
import { cpuPerRequest } from './sample.ts'
import { summarise } from './summarise.ts'

const ROOT = fileURLToPath(new URL('..', import.meta.url))

/**
 * Writes the results of all rows, the commit and the machine to `<folder>/<date>-<short commit>.json`.
 * @returns the path of the file, relative to the checkout.
 */
export function writeResults(
  results: readonly RowResult[],
  options: { readonly now: Date; readonly rounds: number; readonly roundSeconds: number },
): string {
  return writeMeasurements('', options.now, {
    rounds: options.rounds,
    roundSeconds: options.roundSeconds,
    rows: results.map(describeRow),
  })
}

/**
 * Writes `measurements`, the commit and the machine to `<folder>/<prefix><date>-<short commit>.json`.
 * @returns the path of the file, relative to the checkout.
 */
export function writeMeasurements(prefix: string, now: Date, measurements: object): string {
  const date = now.toISOString().slice(0, 10)
  const commit = git('rev-parse', '--short', 'HEAD') ?? 'unknown'
  const content = {
    date,
    commit,
    uncommittedChanges: git('status', '--porcelain', '--untracked-files=no') !== '',
    machine: describeMachine(),
    ...measurements,
  }
  const file = join('bench', 'results', `${prefix}${date}-${commit}.json`)
  mkdirSync(join(ROOT, 'bench', 'results'), { recursive: true })
  writeFileSync(join(ROOT, file), `${JSON.stringify(content, undefined, 2)}\n`)
  return file
}

function describeRow(result: RowResult): object {
  return {
    title: result.title,
    conditions: result.conditions,
    ratios: result.ratios.map((ratio) => ({
      ...ratio,
      found: summarise(pairUp(result.measured, ratio.of, ratio.to)),
      foundOfMinima: ratioOfMinima(result.measured, ratio.of, ratio.to),
    })),
    figures: (result.figures ?? []).map((figure) => ({ ...figure, summary: summarise(figure.found) })),
    subjects: result.measured.map(({ name, samples }) => ({
      name,
      cpuMicrosPerRequest: summarise(samples.map(cpuPerRequest)),
      samples,
    })),
  }
}

function git(...args: readonly string[]): string | undefined {
  try {
    return execFileSync('git', args, {
      cwd: ROOT,
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    }).trim()
  } catch {
    return undefined
  }
}
