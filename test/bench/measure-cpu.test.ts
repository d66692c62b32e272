import { spawn } from 'node:child_process'
import t from 'tap'
import { BenchError } from '../../bench/bench-error.ts'
import { measureCpuMicros, parseCpuTicks } from '../../bench/measure-cpu.ts'

t.test('measureCpuMicros() fails for a process that has ended', async (t) => {
  const neverAProcess = 2 ** 30 // higher than the largest process ID on Linux
  t.throws(
    () => measureCpuMicros(neverAProcess),
    new BenchError('ERR_BENCH_SUBJECT', `the server under test (process ${neverAProcess}) has ended`),
  )
})

t.test(
  'parseCpuTicks() sums the time of a process and its ended children, for any program name',
  async (t) => {
    const fields = 'S 1 4242 4242 0 -1 4194560 100 0 0 0 321 45 7 8 20 0 11 0 100 0 0'
    t.equal(parseCpuTicks(`4242 (node) ${fields}`), 381)
    t.equal(parseCpuTicks(`4242 (a) b (c) ${fields}`), 381)
  },
)

t.test('measureCpuMicros() grows while this process works', async (t) => {
  const before = measureCpuMicros(process.pid)
  while (measureCpuMicros(process.pid) === before);
  t.ok(measureCpuMicros(process.pid) > before)
})

t.test('measureCpuMicros() counts the CPU time of child processes', async (t) => {
  const child = spawn(process.execPath, ['-e', 'for (;;);'], { stdio: 'ignore' })
  t.teardown(() => child.kill('SIGKILL'))
  const ofChild = 100_000
  while (measureCpuMicros(child.pid ?? 0) < ofChild);
  const { user, system } = process.cpuUsage()
  const ROUNDING = 40_000 // /proc rounds every value down to 10 ms
  t.ok(measureCpuMicros(process.pid) >= user + system + ofChild - ROUNDING)
})
