// `npm run bench`: measures every row in sequence, prints the results, and writes the results to bench/results/. `--row
// NAME` selects one row.
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { createCleanup } from './cleanup.ts'
import { formatResult } from './format-result.ts'
import { pinCores } from './pin-cores.ts'
import { printProgress } from './print-progress.ts'
import { readOptions } from './read-options.ts'
import type { Row, RowResult } from './row.ts'
import { addedLatency } from './rows/added-latency.ts'
import { authorizationServer } from './rows/authorization-server.ts'
import { bundledTokens } from './rows/bundled-tokens.ts'
import { cachedToken } from './rows/cached-token.ts'
import { check } from './rows/check.ts'
import { consoleRow } from './rows/console.ts'
import { decisionMode } from './rows/decision-mode.ts'
import { firstUse } from './rows/first-use.ts'
import { http2 } from './rows/http2.ts'
import { opaqueTokens } from './rows/opaque-tokens.ts'
import { reload } from './rows/reload.ts'
import { routeMatch } from './rows/route-match.ts'
import { start } from './rows/start.ts'
import { tracing } from './rows/tracing.ts'
import { twoWorkers } from './rows/two-workers.ts'
import { runProgram } from './run-program.ts'
import { writeResults } from './write-results.ts'

const ROWS: readonly Row[] = [
  cachedToken,
  firstUse,
  http2,
  bundledTokens,
  authorizationServer,
  opaqueTokens,
  twoWorkers,
  decisionMode,
  tracing,
  consoleRow,
  addedLatency,
  routeMatch,
  reload,
  start,
  check,
]

await runProgram(async (own) => {
  const { rows, ...options } = readOptions(
    process.argv.slice(2),
    ROWS.map(({ name }) => name),
  )
  const cores = pinCores()
  printProgress(
    cores === undefined
      ? 'processes are not pinned, because pinning requires two processors and taskset: the figures vary more'
      : `server under test on processor ${cores.server}, all other processes on ${cores.others}`,
  )
  const results: RowResult[] = []
  for (const row of ROWS) {
    if (rows.length > 0 && !rows.includes(row.name)) continue
    const cleanup = createCleanup()
    own.cleanup.add(cleanup.run)
    const folder = join(own.folder, row.name)
    mkdirSync(folder)
    printProgress(`${row.name}: starting its servers …`)
    results.push(await row.run({ ...options, cores, folder, cleanup, printProgress }))
    await cleanup.run()
  }
  const file = writeResults(results, { ...options, now: new Date() })
  process.stdout.write(`\n${results.map(formatResult).join('\n')}\n`)
  printProgress(`written to ${file}`)
})
