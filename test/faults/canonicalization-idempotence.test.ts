import fc from 'fast-check'
import t from 'tap'
import { canonicalRequest } from '../../policy-engine/match/canonical-request.ts'
import { canonicalTarget } from '../../policy-engine/match/canonical-target.ts'

// FUZZ_CANONICAL_RUNS sets the number of runs. The message of a failure contains the seed and the path with which
// fast-check repeats the run.
const RUNS = Number(process.env['FUZZ_CANONICAL_RUNS'] ?? 100_000)
const HEADER_RUNS = Math.ceil(RUNS / 10)
const LIMIT_MS = 60_000 + RUNS
const RULES = { method: 'GET', origin: 'http://api.test', limitBytes: 200 }
const HEADER_RULES = { origin: 'http://api.test', limitBytes: 200 }

/** Fragments of ordinary paths, and fragments of bypass attempts. */
// biome-ignore format: a table
const HARMLESS = [
  '/', '/a', '/Z', 'a', '7', '-', '.', '_', '~', '%61', '%7e', '%41', '%2e', '%3b', '%25', '%252e', '%c3%a9', '%E2%82%AC', ';', ';a=b',
  ':', '@', '!', '$', '&', "'", '(', ')', '*', '+', ',', '=', '?',
]
// biome-ignore format: a table
const HARMFUL = [
  '..', '//', '/./', '/../', '%2E', '%2f', '%2F', '%5c', '%00', '%0a', '%7f', '%80', '%C0%AE', '%ff', '%', '%4', '%zz', '%u0041', '..;',
  '#', '\\', ' ', '"', '<', '{', '|', '^', '`', '\u0000', '\u007f', 'é', '／', 'http://api.test', 'HTTP://API.TEST/', '//api.test',
]

t.test(
  `${RUNS} targets: canonicalization is idempotent, and URL parsers read the same path`,
  { timeout: LIMIT_MS },
  async (t) => {
    const counts = { canonical: 0, rejected: 0, changed: 0 }
    const pieces = fc.oneof(
      { weight: 3, arbitrary: fc.array(fc.constantFrom(...HARMLESS), { maxLength: 24, size: 'max' }) },
      fc.array(fc.constantFrom(...HARMLESS, ...HARMFUL), { maxLength: 16, size: 'max' }),
    )
    const target = fc
      .tuple(fc.boolean(), pieces)
      .map(([isPath, pieces]) => (isPath ? '/' : '') + pieces.join(''))
    fc.assert(
      fc.property(target, (text) => {
        const once = canonicalTarget(text, RULES)
        if ('rejected' in once) {
          counts.rejected += 1
          return
        }
        const { path, query } = once
        counts.canonical += 1
        if (path + query !== text) counts.changed += 1
        const twice = canonicalTarget(path + query, RULES)
        if ('rejected' in twice || twice.path !== path || twice.query !== query)
          throw new Error(`not stable: ${path}${query}`)
        if (new URL(`http://api.test${path}${query}`).pathname !== path)
          throw new Error(`a URL parser reads another path: ${path}`)
        const decoded = decodeURIComponent(path)
        if (/(?:^|\/)\.{1,2}(?:[/;]|$)|\/\/|\\|\p{Cc}/u.test(decoded))
          throw new Error(`ambiguous when decoded: ${path}`)
        if (decoded.split('/').length !== path.split('/').length)
          throw new Error(`other segments when decoded: ${path}`)
      }),
      { numRuns: RUNS },
    )
    t.equal(counts.canonical + counts.rejected, RUNS)
    t.ok(
      counts.canonical > RUNS / 10 && counts.changed > RUNS / 20,
      'many targets have a canonical form, and some differ from it',
    )
    t.comment(
      `${RUNS} targets: ${counts.canonical} canonical (${counts.changed} written otherwise), ${counts.rejected} rejected`,
    )
  },
)

const NAMES = [
  'X-A',
  'x-a',
  'Host',
  'Connection',
  'Content-Length',
  'Transfer-Encoding',
  'Cookie',
  'Authorization',
  'X-Auth-Subject',
  'X_Auth_Subject',
  'x.auth.scope',
  'Forwarded',
  'TE',
  'Upgrade',
  'Expect',
  'X-Forwarded-For',
  'User-Agent',
  'Via',
  'x-request-id',
]
const VALUES = [
  '',
  'a',
  'api.test',
  '5',
  '0',
  'chunked',
  'x-a',
  'close',
  'upgrade, x-a',
  'X-Auth-Subject',
  'Bearer a',
  '100-continue',
  'a=b',
]

t.test(
  `${HEADER_RUNS} heads: cleaning the headers a second time changes nothing`,
  { timeout: LIMIT_MS },
  async (t) => {
    const counts = { clean: 0, rejected: 0 }
    const header = fc.tuple(fc.constantFrom(...NAMES), fc.constantFrom(...VALUES))
    fc.assert(
      fc.property(
        fc.array(header, { maxLength: 8 }),
        fc.constantFrom('1.0', '1.1'),
        (headers, httpVersion) => {
          const message = { method: 'GET', url: '/a', httpVersion }
          const once = canonicalRequest(
            { ...message, rawHeaders: ['Host', 'api.test', ...headers.flat()] },
            HEADER_RULES,
          )
          if ('rejected' in once) {
            counts.rejected += 1
            return
          }
          counts.clean += 1
          const { endToEnd } = once.headers
          if (
            endToEnd.some(
              (name, at) =>
                at % 2 === 0 &&
                /^(?:x[-_.]auth|connection|te$|upgrade|host|forwarded|via|x-forwarded)/i.test(name),
            )
          )
            throw new Error(`passed on: ${endToEnd}`)
          const twice = canonicalRequest(
            { ...message, rawHeaders: ['Host', 'api.test', ...endToEnd] },
            HEADER_RULES,
          )
          if ('rejected' in twice || twice.headers.endToEnd.join('\n') !== endToEnd.join('\n'))
            throw new Error(`not stable: ${endToEnd}`)
        },
      ),
      { numRuns: HEADER_RUNS },
    )
    t.ok(counts.clean > HEADER_RUNS / 20)
    t.comment(`${HEADER_RUNS} heads: ${counts.clean} clean, ${counts.rejected} rejected`)
  },
)
