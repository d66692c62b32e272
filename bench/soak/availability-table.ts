import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { findPackageRoot } from '../../platform/process/package-root.ts'
import { BenchError } from '../bench-error.ts'
import type { FaultName, FaultResult } from './availability-result.ts'
import type { StoreName } from './availability-stores.ts'
import type { TokenFormat } from './availability-trial.ts'
import { readPercentile } from './read-percentile.ts'

/** `result` is undefined if the store has no such fault. */
export type AvailabilityRow = {
  readonly store: StoreName
  readonly tokens: TokenFormat
  readonly fault: FaultName
  readonly result: FaultResult | undefined
}

const PAGE = join('docs', 'availability.md')
const START = '<!-- measured: npm run soak:availability -->'
const END = '<!-- end -->'
const WRITES_LIMIT_MS = 2_000
const REVOCATION_P99_LIMIT_MS = 1_000
/** Minimum number of revocations for a percentile. A percentile of fewer values has no meaning. */
const MIN_REVOCATIONS = 100

const STORE_NAMES: Readonly<Record<StoreName, string>> = {
  redis: 'Redis',
  sentinel: 'Redis with Sentinel',
  cluster: 'Redis Cluster',
  postgres: 'PostgreSQL',
}
const FAULT_NAMES: Readonly<Record<FaultName, string>> = {
  none: 'no fault',
  restart: 'restart of the store, 2 s',
  kill: '`kill -9` of the store',
  freeze: 'store frozen, 5 s',
  partition: 'one gateway partitioned, 10 s',
  'servers-frozen': 'authorization servers frozen, 5 s',
  rolling: 'rolling restart of all services',
  'servers-away': 'authorization servers away, 2 min',
  failover: 'failover of the store',
}
const COLUMNS = [
  'store',
  'tokens',
  'fault',
  'requests',
  'failed, known tokens',
  'failed, new tokens',
  'wrong decisions',
  'lost grants',
  'recovery',
  'first write',
  'revocation, p50 / p99',
] as const
/** These columns identify a row. */
const KEY_COLUMNS = 3

/** Formats the lines of the Markdown table without the header lines. */
export function formatRows(rows: readonly AvailabilityRow[]): readonly string[] {
  return rows.map(({ store, tokens, fault, result }) => {
    const key = [STORE_NAMES[store], tokens === 'jwt' ? 'JWT' : tokens, FAULT_NAMES[fault]]
    const cells = result === undefined ? COLUMNS.slice(KEY_COLUMNS).map(() => '-') : cellsOf(result)
    return `| ${[...key, ...cells].join(' | ')} |`
  })
}

export function formatTable(lines: readonly string[]): string {
  return [`| ${COLUMNS.join(' | ')} |`, `|${COLUMNS.map(() => '---').join('|')}|`, ...lines].join('\n')
}

function cellsOf(result: FaultResult): readonly string[] {
  const { recoveryMs, writesMs, revocationsMs } = result
  const percentile = (share: number): string => `${readPercentile(revocationsMs, share).toFixed(0)} ms`
  return [
    result.requests.toLocaleString('en'),
    String(result.failedKnown),
    String(result.failedNew),
    String(result.wrongDecisions),
    String(result.lostGrants),
    recoveryMs === undefined ? 'not within 1 min' : `${(recoveryMs / 1_000).toFixed(1)} s`,
    writesMs === undefined ? '-' : `${writesMs.toFixed(0)} ms`,
    revocationsMs.length < MIN_REVOCATIONS ? '-' : `${percentile(0.5)} / ${percentile(0.99)}`,
  ]
}

export function findExceededLimits({ store, tokens, fault, result }: AvailabilityRow): readonly string[] {
  if (result === undefined) return []
  const { writesMs = 0, revocationsMs, isDurable } = result
  const limits: readonly (readonly [string, boolean])[] = [
    ['failed requests with known tokens', result.failedKnown === 0],
    ['failed first uses of JWTs', fault !== 'servers-away' || tokens !== 'jwt' || result.failedNew === 0],
    ['wrong decisions', result.wrongDecisions === 0],
    ['lost grants', !isDurable || result.lostGrants === 0],
    ['not recovered', result.recoveryMs !== undefined],
    ['first write later than 2 s after the new primary', writesMs < WRITES_LIMIT_MS],
    ['a revocation without effect', !revocationsMs.includes(Infinity)],
    [
      'p99 of revocations above 1 s',
      revocationsMs.length < MIN_REVOCATIONS || readPercentile(revocationsMs, 0.99) < REVOCATION_P99_LIMIT_MS,
    ],
  ]
  return limits.flatMap(([what, holds]) => (holds ? [] : [`${store}, ${tokens}, ${fault}: ${what}`]))
}

/**
 * Writes rows into the table of docs/availability.md.
 * @throws {BenchError} ERR_BENCH_SUBJECT if the page has no place for the table.
 */
export function writeTable(lines: readonly string[]): void {
  const file = join(findPackageRoot(), PAGE)
  writeFileSync(file, replaceRows(readFileSync(file, 'utf8'), lines))
}

/**
 * Returns the page with these rows. Keeps earlier rows of other stores, tokens and faults.
 * @throws {BenchError} ERR_BENCH_SUBJECT if the page has no place for the table.
 */
export function replaceRows(page: string, lines: readonly string[]): string {
  const [start, end] = [page.indexOf(START), page.indexOf(END)]
  if (start === -1 || end < start)
    throw new BenchError('ERR_BENCH_SUBJECT', `${PAGE} has no place for the table`)
  const keyOf = (line: string): string => line.split('|', KEY_COLUMNS + 1).join('|')
  const earlier = page
    .slice(start, end)
    .split('\n')
    .filter((line) => /^\| [A-Z]/.test(line))
  const rows = new Map([...earlier, ...lines].map((line) => [keyOf(line), line]))
  const order = Object.values(STORE_NAMES).flatMap((store) =>
    ['opaque', 'JWT'].flatMap((tokens) =>
      Object.values(FAULT_NAMES).map((fault) => keyOf(`| ${store} | ${tokens} | ${fault} |`)),
    ),
  )
  const table = formatTable(order.flatMap((key) => rows.get(key) ?? []))
  return `${page.slice(0, start)}${START}\n\n${table}\n\n${page.slice(end)}`
}
