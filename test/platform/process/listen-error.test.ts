import t from 'tap'
import { explainListenError } from '../../../platform/process/listen-error.ts'

const ADDRESS = { service: 'gateway', host: '192.0.2.7', port: 8080, setting: 'PORT or listen.port' }

const CASES = [
  ['EADDRINUSE', 'ERR_PORT_TAKEN', '192.0.2.7:8080'],
  ['EACCES', 'ERR_PORT_FORBIDDEN', '192.0.2.7:8080'],
  ['EADDRNOTAVAIL', 'ERR_ADDRESS_UNKNOWN', '192.0.2.7'],
  ['ENOTFOUND', 'ERR_ADDRESS_UNKNOWN', '192.0.2.7'],
  ['EAFNOSUPPORT', 'ERR_ADDRESS_UNKNOWN', '192.0.2.7'],
  ['EINVAL', 'ERR_LISTEN', '192.0.2.7:8080'],
] as const

for (const [systemCode, code, where] of CASES)
  t.test(`explainListenError() names service, address and setting for ${systemCode}`, async (t) => {
    const cause = Object.assign(new Error('listen'), { code: systemCode })
    const error = explainListenError(cause, ADDRESS)
    t.match(error, { name: 'BootError', code, exitCode: 1 })
    t.equal(error.cause, cause)
    t.ok(error.message.startsWith('gateway: '), error.message)
    t.ok(error.message.includes(where), error.message)
    t.ok(error.message.includes(ADDRESS.setting), error.message)
  })

t.test('explainListenError() names the system error code when the code is unknown', async (t) => {
  const error = explainListenError(Object.assign(new Error('listen'), { code: 'EINVAL' }), ADDRESS)
  t.match(error.message, 'EINVAL')
  t.match(explainListenError('no error', ADDRESS), { code: 'ERR_LISTEN', message: /unknown/ })
})

t.test('explainListenError() states the problem, the address and the remedy', async (t) => {
  const messages = CASES.map(
    ([code]) => explainListenError(Object.assign(new Error('listen'), { code }), ADDRESS).message,
  )
  t.strictSame(messages, [
    'gateway: another program listens on 192.0.2.7:8080 already. End that program, or choose another port (PORT or listen.port).',
    'gateway: this user may not listen on 192.0.2.7:8080. Choose a port above 1023 (PORT or listen.port).',
    'gateway: this machine has no address 192.0.2.7. Use 127.0.0.1, or 0.0.0.0 for every address (PORT or listen.port).',
    'gateway: this machine has no address 192.0.2.7. Use 127.0.0.1, or 0.0.0.0 for every address (PORT or listen.port).',
    'gateway: this machine does not support the address family of 192.0.2.7. Use 0.0.0.0 for every IPv4 address, or enable IPv6 (PORT or listen.port).',
    'gateway: could not listen on 192.0.2.7:8080 (EINVAL; PORT or listen.port).',
  ])
  for (const error of [new Error('listen'), { code: 'EACCES' }])
    t.equal(
      explainListenError(error, ADDRESS).message,
      'gateway: could not listen on 192.0.2.7:8080 (unknown; PORT or listen.port).',
    )
})
