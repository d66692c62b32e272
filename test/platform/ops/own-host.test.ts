import t from 'tap'
import { createOwnHost } from '../../../platform/ops/own-host.ts'

const isOwn = createOwnHost({ host: 'ops.internal', names: ['gw-scopegate', 'gw-scopegate.gateways.svc'] })

t.test('createOwnHost() accepts addresses, this machine and the configured names', async (t) => {
  for (const host of [
    '127.0.0.1',
    '127.0.0.1:1',
    '127.0.0.1:65535',
    '[::]',
    '10.42.0.17:9090',
    '0.0.0.0:9090',
    '[::1]',
    '[::1]:9090',
    '[fd00::17]:9090',
    'localhost',
    'LocalHost:9090',
    'localhost.:9090',
    'ops.internal:9090',
    'gw-scopegate:9090',
    'GW-Scopegate.Gateways.SVC.:9090',
  ])
    t.ok(isOwn(host), host)
})

t.test('createOwnHost() rejects every other name, also similar names', async (t) => {
  for (const host of [
    'evil.example',
    'evil.example:9090',
    'localhost.evil.example',
    'evil-localhost',
    '127.0.0.1.evil.example:9090',
    '127.0.0.1.nip.io',
    '2130706433',
    '0x7f.1',
    '127.1',
    '::1',
    '[::1',
    '[::1]evil',
    '[evil.example]:9090',
    '[127.0.0.1]',
    'user@127.0.0.1',
    '127.0.0.1:9090:9090',
    '127.0.0.1:x',
    '127.0.0.1:999999',
    '127.0.0.1:',
    '127.0.0.1 ',
    ' localhost',
    'localhost..',
    '',
    ':9090',
    '*',
    'gw-scopegate.evil.example',
  ])
    t.notOk(isOwn(host), host)
})

t.test('createOwnHost() rejects every name when the host is 0.0.0.0 and no name is configured', async (t) => {
  const isOwn = createOwnHost({ host: '0.0.0.0', names: undefined })
  t.ok(isOwn('10.0.0.7:9090'))
  t.notOk(isOwn('gw-scopegate:9090'))
})
