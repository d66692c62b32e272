import t from 'tap'
import { partOf, readSelfTimes } from '../../../bench/profile/read-self-times.ts'

const node = (id: number, functionName: string, url = '', lineNumber = -1) => ({
  id,
  callFrame: { functionName, url, lineNumber },
})

t.test('readSelfTimes() sums samples within the interval, without idle time', async (t) => {
  const profile = {
    nodes: [
      node(1, '(idle)'),
      node(2, 'handle', 'file:///app/gateway/pipeline/pipeline.ts', 9),
      node(3, '(garbage collector)'),
    ],
    startTime: 1000,
    samples: [2, 2, 3, 1, 2, 2],
    timeDeltas: [0, 10, 20, 40, 80, 160],
  }
  t.same(
    readSelfTimes(profile, 1005, 1200),
    [
      { function: '(garbage collector)', location: '', micros: 40 },
      { function: 'handle', location: 'gateway/pipeline/pipeline.ts:10', micros: 180 },
    ].toSorted((a, b) => b.micros - a.micros),
  )
})

t.test('partOf() returns the package or the folder of a location', async (t) => {
  t.equal(partOf(''), 'V8, libuv and the system')
  t.equal(partOf('node:internal/http:3'), 'Node.js (JavaScript)')
  t.equal(partOf('node_modules/undici/lib/dispatcher/client.js:7'), 'undici')
  t.equal(partOf('node_modules/@fastify/error/index.js:7'), '@fastify/error')
  t.equal(partOf('gateway/pipeline/pipeline.ts:10'), 'gateway/pipeline')
})
