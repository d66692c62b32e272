import { BenchError } from './bench-error.ts'
import type { Load, LoadResult } from './load/load.ts'
import { measureCpuMicros } from './measure-cpu.ts'
import type { Sample } from './sample.ts'
import type { Subject } from './subject.ts'

/**
 * Puts a server under load for `seconds` seconds and measures the CPU time that its process takes for it.
 * @throws {BenchError} ERR_BENCH_ANSWERS when any answer was wrong or missing, ERR_BENCH_SUBJECT when the server ended, and
 * what `subject.verify` throws.
 */
export async function measureRound(subject: Subject, load: Load, seconds: number): Promise<Sample> {
  const ended = subject.process.ended.then((complaints): never => {
    throw new BenchError('ERR_BENCH_SUBJECT', `${subject.name} ended under the load: ${complaints}`)
  })
  const before = measureCpuMicros(subject.process.pid)
  const result = await Promise.race([load.run(subject.target, seconds), ended])
  const cpuMicros = measureCpuMicros(subject.process.pid) - before
  refuseWrongAnswers(subject, result)
  await subject.verify?.(result.right)
  return { requests: result.right, elapsedMs: result.elapsedMs, cpuMicros }
}

/** A figure made of errors is worthless: one wrong answer ends the benchmark. */
function refuseWrongAnswers({ name, target }: Subject, result: LoadResult): void {
  const { right, wrongStatus, wrongBody, broken } = result
  if (right > 0 && wrongStatus + wrongBody + broken === 0) return
  throw new BenchError(
    'ERR_BENCH_ANSWERS',
    `${name}: of the answers to GET ${new URL(target.url).pathname}, ${right} were right, ${wrongStatus} had another status than 200, ${wrongBody} another body than the upstream's, and ${broken} connections broke.`,
  )
}
