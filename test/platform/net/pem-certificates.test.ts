import t from 'tap'
import { http } from '../../../platform/net/http.ts'
import { pemCertificates } from '../../../platform/net/pem-certificates.ts'

t.test(
  'pemCertificates() returns each certificate of a text, without the text between certificates',
  async (t) => {
    const one = '-----BEGIN CERTIFICATE-----\nMIIB\nAAAA\n-----END CERTIFICATE-----'
    const two = '-----BEGIN CERTIFICATE-----\r\nMIIC\r\n-----END CERTIFICATE-----'
    const key = '-----BEGIN PRIVATE KEY-----\nMIIE\n-----END PRIVATE KEY-----'
    t.strictSame(pemCertificates(`subject=a\n${one}\n${key}\nsubject=b\n${two}\n`), [one, two])
    t.strictSame(pemCertificates(one + two), [one, two])
    t.strictSame(pemCertificates(`${key}\n-----BEGIN CERTIFICATE-----\nMIIB\n`), [])
    t.strictSame(pemCertificates('-----BEGIN CERTIFICATE----------END CERTIFICATE-----'), [])
    t.strictSame(pemCertificates(''), [])
  },
)

t.test('http is the module node:http', async (t) => {
  t.equal(http, process.getBuiltinModule('http'))
})
