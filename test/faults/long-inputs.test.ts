import t from 'tap'
import { toHeaderForms } from '../../gateway/pipeline/header-forms.ts'
import { clientAddress, compileTrustedProxies } from '../../gateway/server/client-address.ts'
import { readCredentials } from '../../policy-engine/decide/read-credentials.ts'
import { canonicalTarget } from '../../policy-engine/match/canonical-target.ts'
import { cleanHeaders } from '../../policy-engine/match/clean-headers.ts'
import { cpuMs } from '../fixtures/cpu-ms.ts'

// Length of the inputs: eight times the default size limit of request headers. A parser with O(n²) needs many seconds.
// A parser with O(n) needs milliseconds. The test measures CPU time, so that a busy machine does not fail the test.
const LENGTH = 128 * 1024
const BAR_MS = 1_000

const times = (text: string): string => text.repeat(Math.ceil(LENGTH / text.length))

function within(run: () => unknown): number {
  const before = cpuMs()
  run()
  return cpuMs() - before
}

/**
 * Parts that the tests repeat, because a pattern can match each part in two ways. An ending that does not match follows
 * the parts.
 */
const PIECES = [
  'a',
  '/',
  '/.',
  '/..',
  '/a',
  '/;',
  '%',
  '%2',
  '%41',
  '%2e',
  '%c3',
  '=',
  ' ',
  ',',
  ';',
  '"',
  '.',
  '-',
  '\\',
  '&',
  '+',
]
const ENDS = ['', '"', '#', '\u0000', '%', '\\', ' x']

t.test('reads a long request target in linear time', async (t) => {
  const rules = { method: 'GET', origin: 'http://api.test', limitBytes: Number.POSITIVE_INFINITY }
  for (const piece of PIECES)
    for (const end of ENDS)
      for (const start of ['/', '/a?', 'http://api.test/']) {
        const target = start + times(piece) + end
        const ms = within(() => canonicalTarget(target, rules))
        if (ms > BAR_MS) t.fail(`${start} ${piece} ${end}: ${ms} ms`)
      }
  t.pass()
})

t.test('reads every long header that the gateway parses in linear time', async (t) => {
  const trusted = compileTrustedProxies(['10.0.0.0/8'])
  if (trusted === undefined) throw new Error('there is a block')
  for (const piece of [
    ...PIECES,
    '10.0.0.1,',
    'for=10.0.0.1,',
    'for=10.0.0.1;',
    'for=',
    'for= ',
    'for ',
    'bearer ',
  ])
    for (const end of ENDS)
      for (const start of ['', 'for=', 'for = "', 'Bearer ', 'a']) {
        const value = start + times(piece) + end
        const ms = within(() => {
          for (const header of ['forwarded', 'x-forwarded-for'] as const)
            clientAddress('10.0.0.1', value, { header, trusted })
          readCredentials(
            {
              query: `?${value}`,
              headers: { authorization: value, authorizationCount: 1, proof: undefined },
            },
            { tokenBytes: Number.POSITIVE_INFINITY },
          )
          for (const name of ['Host', 'Connection', 'Content-Length', 'Transfer-Encoding', value])
            cleanHeaders([name, value], '1.1')
        })
        if (ms > BAR_MS) t.fail(`${start} ${piece} ${end}: ${ms} ms`)
      }
  t.pass()
})

t.test('joins many headers with the same name in linear time', async (t) => {
  const rawHeaders = Array.from({ length: LENGTH / 2 }, () => ['a', 'b']).flat()
  const ms = within(() => toHeaderForms(rawHeaders))
  t.ok(ms < BAR_MS, `${ms} ms`)
})
