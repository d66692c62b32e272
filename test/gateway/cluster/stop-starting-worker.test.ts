import t from 'tap'
import { forkWorkers } from '../../fixtures/fork-workers.ts'
import { until } from '../../fixtures/until.ts'

t.test('a worker that gets the message to stop during its start ends without being killed', async (t) => {
  const { workers } = await forkWorkers(t, 1)
  const [worker] = workers
  worker.send({ kind: 'stop', how: 'graceful' })
  let end: unknown
  worker.ended.then((given) => {
    end = given
  })
  t.same(await until('the worker exits', async () => end), { code: 0, signal: undefined })
})
