import { BenchError } from './bench-error.ts'
import type { Load, LoadResult } from './load/load.ts'
import { measureCoreMicros } from './measure-core.ts'
import { measureCpuMicros } from './measure-cpu.ts'
import type { Sample } from './sample.ts'
import type { Subject } from './subject.ts'

/**
 * Puts a server under load for `seconds` seconds, and measures the CPU time of its processes. Excludes the time of
 * `subject.prepare`.
 * @throws {BenchError} ERR_BENCH_ANSWERS for a wrong or missing response, ERR_BENCH_SUBJECT when the server ended, and
 * the errors of `subject.verify`.
 */
export async function measureRound(subject: Subject, load: Load, seconds: number): Promise<Sample> {
  const ended = subject.process.ended.then((complaints): never => {
    throw new BenchError('ERR_BENCH_SUBJECT', `${subject.name} ended under the load: ${complaints}`)
  })
  await subject.prepare?.(seconds)
  const before = readClocks(subject)
  const result = await Promise.race([load.run(subject.target, seconds), ended])
  const after = readClocks(subject)
  rejectWrongResponses(subject, result)
  await subject.verify?.(result.right)
  const cpuMicros = after.ownMicros - before.ownMicros
  return {
    requests: result.right,
    elapsedMs: result.elapsedMs,
    cpuMicros,
    othersMicros:
      after.coreMicros === undefined || before.coreMicros === undefined
        ? undefined
        : Math.max(0, after.coreMicros - before.coreMicros - cpuMicros),
  }
}

function readClocks({ core, process, helpers = [] }: Subject): {
  ownMicros: number
  coreMicros: number | undefined
} {
  return {
    ownMicros: [process, ...helpers].reduce((sum, { pid }) => sum + measureCpuMicros(pid), 0),
    coreMicros: core === undefined ? undefined : measureCoreMicros(core),
  }
}

/** A wrong or missing response makes the figures useless. */
function rejectWrongResponses({ name, target }: Subject, result: LoadResult): void {
  const { right, wrongStatus, wrongBody, broken } = result
  if (right > 0 && wrongStatus + wrongBody + broken === 0) return
  throw new BenchError(
    'ERR_BENCH_ANSWERS',
    `${name}: of the responses of ${new URL(target.url).pathname}, ${right} were correct, ${wrongStatus} had a status other than 200, ${wrongBody} had an unexpected body, and ${broken} connections failed.`,
  )
}
