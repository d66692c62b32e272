import { readFileSync, truncateSync } from 'node:fs'
import { setTimeout as wait } from 'node:timers/promises'
import { BenchError } from '../bench-error.ts'
import type { Product } from './start-product.ts'
import { sumSamples } from './sum-samples.ts'

/**
 * Required share of an expected count. The value is below 1, because the end of a round can interrupt the last
 * requests.
 */
const NEARLY_ALL = 0.99
/** Within this time, a slow machine must write the lines of the access log. */
const LOG_LIMIT_MS = 3_000
const LOG_POLL_MS = 50
const REQUESTS = 'scopegate_http_requests_total'
/** Metrics that count requests by token. `known` is a cache hit, and `new` is a cache miss. */
const COUNTER_OF = {
  known: 'scopegate_token_cache_hits_total',
  new: 'scopegate_token_cache_misses_total',
} as const
const LINE_BREAK = 0x0a

/**
 * Creates the check that a gateway did all its work. For each response, the check expects an access log line, a count
 * in the metrics, and a cache hit or miss. The check empties the log, so that a long benchmark does not fill the disk.
 * @returns the check. Its parameters are the number of responses since the last check, and the kind of their tokens.
 * The check throws ERR_BENCH_INCOMPLETE, or ERR_BENCH_SUBJECT when the gateway has ended.
 */
export function verifyGateway(
  product: Pick<Product, 'logFile' | 'managementUrl'>,
): (answered: number, tokens?: keyof typeof COUNTER_OF) => Promise<void> {
  const answeredWith = { known: 0, new: 0 }
  let logged = 0
  return async (answered, tokens = 'known') => {
    answeredWith[tokens] += answered
    const answeredInAll = answeredWith.known + answeredWith.new
    const deadlineMs = performance.now() + LOG_LIMIT_MS
    while (logged + countLines(product.logFile) < answeredInAll && performance.now() < deadlineMs)
      await wait(LOG_POLL_MS)
    logged += countLines(product.logFile)
    truncateSync(product.logFile)
    const metrics = await scrape(product.managementUrl)
    const counted = (what: string, wanted: number) => ({ what, wanted, count: sumSamples(metrics, what) })
    const found = [
      { what: 'access log lines', wanted: answeredInAll, count: logged },
      counted(REQUESTS, answeredInAll),
      counted(COUNTER_OF.known, answeredWith.known),
      counted(COUNTER_OF.new, answeredWith.new),
    ]
    const missing = found.filter(({ count, wanted }) => count < wanted * NEARLY_ALL)
    if (missing.length === 0) return
    const counts = missing.map(({ what, wanted, count }) => `${count} of ${wanted} ${what}`).join(', ')
    throw new BenchError(
      'ERR_BENCH_INCOMPLETE',
      `the gateway sent ${answeredInAll} responses, but only ${counts}`,
    )
  }
}

async function scrape(managementUrl: string): Promise<string> {
  try {
    return await (await fetch(`${managementUrl}/metrics`)).text()
  } catch (cause) {
    throw new BenchError('ERR_BENCH_SUBJECT', 'the management port of the gateway does not respond', {
      cause,
    })
  }
}

function countLines(file: string): number {
  const bytes = readFileSync(file)
  let lines = 0
  for (let at = bytes.indexOf(LINE_BREAK); at !== -1; at = bytes.indexOf(LINE_BREAK, at + 1)) lines++
  return lines
}
