import t from 'tap'
import { createLogger } from '../../../platform/logging/logger.ts'

/** Every name that secrets travel under. */
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
/** Authorization codes and tokens, as issuers make them; the last two begin as error codes do. */
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

t.test(
  'T6: createLogger() redacts every name that a secret travels under, wherever requests have it',
  async (t) => {
    for (const name of SECRET_NAMES)
      for (const secret of SECRETS) {
        const fields = { [name]: secret }
        for (const place of [fields, { headers: fields }, { req: { headers: fields } }]) {
          const { text } = logged(place)
          t.notOk(text.includes(secret), `${name} in ${JSON.stringify(place)}`)
          t.ok(text.includes(`"${name}":"[cut]"`), `${name} is shown as cut`)
        }
      }
  },
)

t.test('T6: createLogger() redacts a secret that is not text', async (t) => {
  t.equal(logged({ code: 123_456 }).line['code'], '[cut]')
  t.equal(logged({ password: ['a-password'] }).line['password'], '[cut]')
})

t.test('G15: createLogger() shows the codes of errors', async (t) => {
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

t.test('createLogger() shows no member of an error but the known ones', async (t) => {
  const error = Object.assign(new Error('malformed'), { code: 'ERR_X', data: 'bytes of a peer', headers: {} })
  t.strictSame(Object.keys(logged({ err: error }).line['err'] as object), [
    'type',
    'message',
    'stack',
    'code',
  ])
})
