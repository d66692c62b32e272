import t from 'tap'
import { routeConsole } from '../../authorization-server/route-console.ts'

t.test('routeConsole() writes each console line as a log line', async (t) => {
  const { log, info, debug, warn, error } = console
  t.teardown(() => Object.assign(console, { log, info, debug, warn, error }))
  const lines: unknown[] = []
  const write =
    (level: string) =>
    (...line: unknown[]) =>
      void lines.push([level, ...line])
  routeConsole({ info: write('info'), warn: write('warn') })
  console.log('one', 2, null)
  console.info('info')
  console.debug('debug')
  console.warn('warn', new Error('of a library'))
  console.error('error')
  const event = { event: 'console' }
  t.strictSame(lines, [
    ['info', event, 'one 2 null'],
    ['info', event, 'info'],
    ['info', event, 'debug'],
    ['warn', event, 'warn Error: of a library'],
    ['warn', event, 'error'],
  ])
})
