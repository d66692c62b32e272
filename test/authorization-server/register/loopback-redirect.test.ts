import t from 'tap'
import { isLoopbackRedirect } from '../../../authorization-server/register/client-registration.ts'

const STRICT = { loopbackHosts: ['127.0.0.1'], portOptional: false }

t.test('isLoopbackRedirect() rejects every URI except http://127.0.0.1:<port>/<path>', async (t) => {
  const refused = [
    '',
    'http://127.0.0.1/callback',
    'http://127.0.0.1:4000',
    'http://127.0.0.1:/callback',
    'http://127.0.0.1:0/callback',
    'http://127.0.0.1:080/callback',
    'http://127.0.0.1:65536/callback',
    'http://127.0.0.1:999999/callback',
    'http://127.0.0.1:4000/callback#fragment',
    'http://127.0.0.1:4000/call back',
    'http://127.0.0.1:4000/a/../callback',
    'http://127.0.0.1:4000/./callback',
    'http://127.0.0.1:4000/%2e%2e/callback',
    'http://127.0.0.1:4000/callback\tx',
    ' http://127.0.0.1:4000/callback',
    'xhttp://127.0.0.1:4000/callback',
    'http://127.0.0.1:4000/<b>',
    'http://127.0.0.1:4000/callback?a=<b>',
    'http://127.0.0.1:4000\\@evil.example/',
    'http://127.0.0.1:4000/\\evil',
    'http://127.0.0.1:4000/callback\n',
    'http://127.0.0.1:4000/ü',
    'HTTP://127.0.0.1:4000/callback',
    'http:/127.0.0.1:4000/callback',
    'https://127.0.0.1:4000/callback',
    'http://127.0.0.1.evil.example:4000/callback',
    'http://127.0.0.1@evil.example:4000/callback',
    'http://user@127.0.0.1:4000/callback',
    'http://user:secret@127.0.0.1:4000/callback',
    'http://127.0.0.1:80@evil.example/callback',
    'http://127.0.0.2:4000/callback',
    'http://127.1:4000/callback',
    'http://0x7f000001:4000/callback',
    'http://2130706433:4000/callback',
    'http://0177.0.0.1:4000/callback',
    'http://127.0.0.1.:4000/callback',
    'http://[::1]:4000/callback',
    'http://[::ffff:127.0.0.1]:4000/callback',
    'http://localhost:4000/callback',
    'http://LOCALHOST:4000/callback',
    'http://0.0.0.0:4000/callback',
    'com.example.app:/callback',
    'javascript:alert(1)',
    'urn:ietf:wg:oauth:2.0:oob',
  ]
  for (const uri of refused) t.notOk(isLoopbackRedirect(uri, STRICT), JSON.stringify(uri))
})

t.test('isLoopbackRedirect() accepts http://127.0.0.1:<port>/<path>', async (t) => {
  for (const uri of [
    'http://127.0.0.1:1/callback',
    'http://127.0.0.1:80/callback',
    'http://127.0.0.1:65535/a/b/c',
    'http://127.0.0.1:4000/',
    'http://127.0.0.1:4000/callback?app=one',
  ])
    t.ok(isLoopbackRedirect(uri, STRICT), uri)
})

t.test('isLoopbackRedirect() accepts other hosts only when they are configured', async (t) => {
  const accepts = (uri: string, ...loopbackHosts: readonly string[]) =>
    isLoopbackRedirect(uri, { loopbackHosts, portOptional: false })
  t.ok(accepts('http://localhost:4000/callback', '127.0.0.1', 'localhost'))
  t.ok(accepts('http://[::1]:4000/callback', '[::1]'))
  t.notOk(accepts('http://127.0.0.1:4000/callback', '[::1]'))
})

t.test(
  'isLoopbackRedirect() accepts a missing port, and no invalid port, when the port is optional',
  async (t) => {
    const accepts = (uri: string) =>
      isLoopbackRedirect(uri, { loopbackHosts: ['127.0.0.1', '[::1]'], portOptional: true })
    for (const uri of ['http://127.0.0.1/callback', 'http://[::1]/', 'http://127.0.0.1:4000/callback'])
      t.ok(accepts(uri), uri)
    for (const uri of [
      'http://127.0.0.1',
      'http://127.0.0.1:/callback',
      'http://127.0.0.1:0/callback',
      'http://127.0.0.1.evil.example/callback',
      'http://127.0.0.1@evil.example/callback',
      'http://localhost/callback',
      'https://127.0.0.1/callback',
    ])
      t.notOk(accepts(uri), uri)
  },
)
