import t from 'tap'
import { createLogger } from '../../../platform/logging/logger.ts'

/** Every name under which a request carries a secret. */
const SECRET_NAMES = [
  'authorization',
  'cookie',
  'code',
  'code_verifier',
  'access_token',
  'refresh_token',
  'client_secret',
  'clientSecret',
  'password',
]
/** Authorization codes and tokens in the formats of issuers. The last two start like error codes. */
const SECRETS = [
  'splxlOBeZQQYbYS6WxSbIA',
  'Zx3kC0Fm-4fN2rQ8sVtY_7uIoPaLdKjHgFzXcVbNmQ1',
  'eyJhbGciOiJFUzI1NiJ9.e30.c2ln',
  'ERR-4fN2rQ8sVtY',
  'EsplxlOBeZQQYb',
]

function logged(fields: object): { readonly text: string; readonly line: Readonly<Record<string, unknown>> } {
  let text = ''
  const logger = createLogger({ level: 'info', service: 'test' }, { write: (line) => (text += line) })
  logger.info(fields, 'a message')
  return { text, line: JSON.parse(text) }
}

t.test('createLogger() redacts every name of a secret at each position in a request', async (t) => {
  for (const name of SECRET_NAMES)
    for (const secret of SECRETS) {
      const fields = { [name]: secret }
      for (const place of [fields, { headers: fields }, { req: { headers: fields } }]) {
        const { text } = logged(place)
        t.notOk(text.includes(secret), `${name} in ${JSON.stringify(place)}`)
        t.ok(text.includes(`"${name}":"[cut]"`), `${name} is redacted`)
      }
    }
})

t.test('createLogger() redacts a secret that is not a string', async (t) => {
  t.equal(logged({ code: 123_456 }).line['code'], '[cut]')
  t.equal(logged({ password: ['a-password'] }).line['password'], '[cut]')
})

t.test('createLogger() logs the codes of errors', async (t) => {
  for (const code of [
    'ERR_REDIS_UNREACHABLE',
    'UND_ERR_CONNECT_TIMEOUT',
    'ECONNREFUSED',
    'EAI_AGAIN',
    'E2BIG',
  ])
    t.equal(logged({ code }).line['code'], code)
  const cause = Object.assign(new Error('expired'), { code: 'CERT_HAS_EXPIRED' })
  t.match(logged({ err: cause }).line['err'], { code: 'CERT_HAS_EXPIRED', stack: /logger\.test/ })
})

t.test('createLogger() logs only the known members of an error', async (t) => {
  const error = Object.assign(new Error('malformed'), { code: 'ERR_X', data: 'bytes of a peer', headers: {} })
  t.strictSame(Object.keys(logged({ err: error }).line['err'] as object), [
    'type',
    'message',
    'stack',
    'code',
  ])
})
