import t from 'tap'
import { parseCertificate } from '../../../../gateway/server/tls/parse-certificate.ts'
import { aCertificate } from '../../../fixtures/a-certificate.ts'

const HOUR_MS = 3_600_000
const nowMs = Date.now()

t.test('parseCertificate() explains unusable certificates and never shows the private key', async (t) => {
  const good = aCertificate()
  const other = aCertificate()
  const authority = aCertificate({ authority: true })
  const signed = aCertificate({ by: authority })
  const expired = aCertificate({ untilMs: nowMs - HOUR_MS })
  const early = aCertificate({ fromMs: nowMs + HOUR_MS, untilMs: nowMs + 2 * HOUR_MS })
  const encrypted = good.privateKey.export({
    type: 'pkcs8',
    format: 'pem',
    cipher: 'aes-256-cbc',
    passphrase: 'x',
  })
  const CASES: readonly [what: string, cert: string, key: string, file: string, fault: RegExp][] = [
    ['nothing', '', good.key, 'certFile', /does not contain a PEM certificate/],
    [
      'a key in place of the certificate',
      good.key,
      good.key,
      'certFile',
      /does not contain a PEM certificate/,
    ],
    [
      'half a certificate',
      good.cert.slice(0, 200),
      good.key,
      'certFile',
      /does not contain a PEM certificate/,
    ],
    [
      'a broken certificate',
      good.cert.replace(/\n.{64}\n/, '\n'),
      good.key,
      'certFile',
      /certificate|OpenSSL/,
    ],
    [
      'a broken authority',
      `${signed.cert}${authority.cert.replace(/\n.{20}/, '\n')}`,
      signed.key,
      'certFile',
      /certificate 2 /,
    ],
    ['no key', good.cert, '', 'keyFile', /does not contain a PEM private key/],
    [
      'a certificate in place of the key',
      good.cert,
      good.cert,
      'keyFile',
      /does not contain a PEM private key/,
    ],
    ['half a key', good.cert, good.key.slice(0, 100), 'keyFile', /does not contain a PEM private key/],
    ['an encrypted key', good.cert, encrypted.toString(), 'keyFile', /encrypted/],
    ["another's key", good.cert, other.key, 'keyFile', /does not match the certificate/],
    ['the authority first', authority.cert + signed.cert, signed.key, 'certFile', /must be the first/],
    ['one that has expired', expired.cert, expired.key, 'certFile', /expired at \d{4}-/],
    ['one that is not valid yet', early.cert, early.key, 'certFile', /not valid before \d{4}-/],
  ]
  for (const [what, cert, key, file, fault] of CASES) {
    const parsed = parseCertificate({ cert, key }, nowMs)
    t.match(parsed, { file, fault, remedy: /./ }, what)
    t.notMatch(JSON.stringify(parsed), /[A-Za-z0-9+/=]{40}/, what)
  }
})

t.test('parseCertificate() returns the certificate with its chain, validity period and names', async (t) => {
  const authority = aCertificate({ authority: true })
  const { cert, key } = aCertificate({ by: authority, names: ['api.test'], untilMs: nowMs + HOUR_MS })
  const parsed = parseCertificate({ cert: `in the clear\r\n${cert}\r\n${authority.cert}`, key }, nowMs)
  t.match(parsed, {
    names: 'DNS:api.test',
    expiresAtMs: Math.floor((nowMs + HOUR_MS) / 1_000) * 1_000,
    fingerprint: /^([0-9A-F]{2}:){31}[0-9A-F]{2}$/,
    key,
  })
  t.equal(('cert' in parsed ? parsed.cert : '').match(/BEGIN CERTIFICATE/g)?.length, 2)
})
