import { execFileSync } from 'node:child_process'
import { closeSync, openSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { BenchError } from '../bench-error.ts'
import type { Cleanup } from '../cleanup.ts'
import { startProcess } from '../start-process.ts'
import { CONNECTIONS, type Load, type LoadResult, type Target } from './load.ts'

type Options = {
  readonly program: string
  readonly cores: string | undefined
  readonly folder: string
  readonly cleanup: Cleanup
}

/** wrk runs with one thread. A script checks every response. */
export function createWrkLoad(options: Options): Load {
  return {
    name: wrkVersion(options.program),
    connections: CONNECTIONS,
    run: (target, seconds) => run(options, target, seconds),
  }
}

async function run(options: Options, target: Target, seconds: number): Promise<LoadResult> {
  const script = join(options.folder, 'wrk.lua')
  writeFileSync(script, formatScript(target), { mode: 0o600 })
  const output = join(options.folder, 'wrk.out')
  const descriptor = openSync(output, 'w')
  const wrk = startProcess({
    name: 'wrk',
    command: [options.program, '-t1', `-c${CONNECTIONS}`, `-d${seconds}s`, '-s', script, target.url],
    cores: options.cores,
    stdout: descriptor,
    cleanup: options.cleanup,
  })
  const complaints = await wrk.ended
  closeSync(descriptor)
  return parseSum(readFileSync(output, 'utf8'), complaints)
}

/** The Lua script sends the headers, counts the responses, and prints the sums on one line. */
export function formatScript({ headers, expectedBody, tokens }: Target): string {
  const set = Object.entries(headers).map(
    ([name, value]) => `wrk.headers[ ${quote(name)} ] = ${quote(value)}`,
  )
  return `${set.join('\n')}${tokens === undefined ? '' : formatTurns(tokens)}
local expected = ${quote(expectedBody)}
local thread
right, wrong_status, wrong_body = 0, 0, 0
function setup(only_thread) thread = only_thread end
function response(status, headers, body)
  if status ~= 200 then wrong_status = wrong_status + 1
  elseif body ~= expected then wrong_body = wrong_body + 1
  else right = right + 1 end
end
function done(summary)
  local errors = summary.errors
  io.write(string.format('SUM %d %d %d %d %d\\n',
    thread:get('right'), thread:get('wrong_status'), thread:get('wrong_body'),
    errors.connect + errors.read + errors.write + errors.timeout, summary.duration))
end
`
}

/** The Lua code builds one request for each token at the start, and sends the requests cyclically. */
function formatTurns(tokens: readonly string[]): string {
  return `
local tokens = { ${tokens.map(quote).join(', ')} }
local requests, at = {}, 0
function init()
  for index, token in ipairs(tokens) do
    wrk.headers["authorization"] = "Bearer " .. token
    requests[index] = wrk.format()
  end
end
function request()
  at = at % #requests + 1
  return requests[at]
end`
}

/**
 * Reads the line with the sums of the script: right, wrong status, wrong body, broken, microseconds.
 * @throws {BenchError} ERR_BENCH_LOAD if wrk did not print this line.
 */
export function parseSum(output: string, complaints: string): LoadResult {
  const [right, wrongStatus, wrongBody, broken, micros] =
    /^SUM (\d+) (\d+) (\d+) (\d+) (\d+)$/m.exec(output)?.slice(1).map(Number) ?? []
  if (right === undefined || micros === undefined)
    throw new BenchError('ERR_BENCH_LOAD', `wrk failed: ${complaints} ${output.slice(0, 500)}`)
  return {
    right,
    wrongStatus: wrongStatus ?? 0,
    wrongBody: wrongBody ?? 0,
    broken: broken ?? 0,
    elapsedMs: micros / 1000,
  }
}

/** Returns a Lua string in long brackets. JSON, tokens and header names do not contain brackets of this level. */
function quote(text: string): string {
  if (text.includes(']==]')) throw new BenchError('ERR_BENCH_LOAD', 'cannot quote this text for Lua')
  return `[==[${text}]==]`
}

function wrkVersion(program: string): string {
  // `wrk -v` prints its version and usage, and exits with code 1.
  const answer = execFileSync('sh', ['-c', '"$0" -v 2>&1 || true', program], { encoding: 'utf8' })
  return /^wrk \S+/.exec(answer)?.[0] ?? 'wrk'
}
