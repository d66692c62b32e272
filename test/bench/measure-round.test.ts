import t from 'tap'
import { createCleanup } from '../../bench/cleanup.ts'
import { measureCpuMicros } from '../../bench/measure-cpu.ts'
import { measureRound } from '../../bench/measure-round.ts'
import { startProcess } from '../../bench/start-process.ts'
import { until } from '../fixtures/until.ts'

t.test('measureRound() counts the CPU time of every process that serves the requests', async (t) => {
  const cleanup = createCleanup()
  t.teardown(cleanup.run)
  const start = (name: string, code: string) =>
    startProcess({ name, command: [process.execPath, '-e', code], cores: undefined, cleanup })
  const idle = start('idle', 'setInterval(() => undefined, 60_000)')
  const busy = start('busy', 'for (;;);')
  const target = { url: 'http://127.0.0.1:1/', headers: {}, expectedBody: '' }
  const subject = { name: 'two processes', process: idle, helpers: [busy], core: undefined, target }
  const MICROS = 300_000
  const sample = await measureRound(
    subject,
    {
      name: 'waits until the busy process has worked',
      connections: 1,
      async run() {
        const before = measureCpuMicros(busy.pid)
        await until(
          'the process has used CPU time',
          async () => measureCpuMicros(busy.pid) - before >= MICROS,
        )
        return { right: 1, wrongStatus: 0, wrongBody: 0, broken: 0, elapsedMs: 1 }
      },
    },
    1,
  )
  t.ok(sample.cpuMicros >= MICROS, `${sample.cpuMicros} µs`)
})

t.test('measureRound() prepares the round before it sends the load', async (t) => {
  const cleanup = createCleanup()
  t.teardown(cleanup.run)
  const idleProcess = startProcess({
    name: 'idle',
    command: [process.execPath, '-e', 'setInterval(() => undefined, 60_000)'],
    cores: undefined,
    cleanup,
  })
  const steps: string[] = []
  const target = { url: 'http://127.0.0.1:1/', headers: {}, expectedBody: '' }
  const prepare = async (seconds: number) => void steps.push(`prepare ${seconds} s`)
  const sample = await measureRound(
    { name: 'prepared', process: idleProcess, core: undefined, target, prepare },
    {
      name: 'records its start',
      connections: 1,
      async run(_target, seconds) {
        steps.push(`load ${seconds} s`)
        return { right: 1, wrongStatus: 0, wrongBody: 0, broken: 0, elapsedMs: 1 }
      },
    },
    2,
  )
  t.strictSame(steps, ['prepare 2 s', 'load 2 s'])
  t.equal(sample.requests, 1)
})
