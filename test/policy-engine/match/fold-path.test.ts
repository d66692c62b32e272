import fc from 'fast-check'
import t from 'tap'
import {
  foldedPrefix,
  foldedRelation,
  isBelowAnyFolded,
  templateReadings,
} from '../../../policy-engine/match/fold-path.ts'

const SPELLINGS = [
  '/api/billing',
  '/api/billing/',
  '/api/billing/7',
  '/api/Billing/7',
  '/API/BILLING',
  '/api/billing;x/7',
  '/api;a=b/billing;x',
  '/api/billing%3Bx/7',
  '/api/billing./7',
  '/api/billing../7',
  '/api/billing%20/7',
  '/api/billing.%20',
  '/api/%2562illing/7',
  '/api/billin%2567',
  '/api/%EF%BD%82illing/7',
  '/api/billing%3Fx',
  '/api/billing%23',
  '/api%252Fbilling/7',
  '/api/x/%252E%252E/billing/7',
  '/api/%252E/billing',
  '/api/billing/%252E%252E/x',
  '/api%255Cbilling',
  '/api/billing;%25FF/7',
]
const OTHERS = [
  '/',
  '/api',
  '/api/bill',
  '/api/billing-admin',
  '/api/billing.json',
  '/api/billing.json/7',
  '/api/x;billing',
  '/x/api/billing',
  '/api/%2F'.replace('%2F', 'x%252Fbilling'),
  '/Api/Bill%69ng2',
]

t.test('a path is below a prefix in every spelling that an upstream can accept', async (t) => {
  const isBelow = isBelowAnyFolded(['/other', '/api/billing'], { suffixes: false })
  for (const path of SPELLINGS) t.equal(isBelow(path), true, path)
  for (const path of OTHERS) t.equal(isBelow(path), false, path)
  t.equal(isBelowAnyFolded(['/'], { suffixes: false })('/x'), true)
  t.equal(isBelowAnyFolded(['/'], { suffixes: false })('/x;y'), true)
})

t.test('with suffixes, a path with a format suffix is below the prefix', async (t) => {
  const isBelow = isBelowAnyFolded(['/api/billing'], { suffixes: true })
  for (const path of [...SPELLINGS, '/api/billing.json', '/api/Billing.JSON;x', '/api/billing.json/7'])
    t.equal(isBelow(path), true, path)
  for (const path of ['/api.json/billing', '/api/billing-admin', '/api/billing2.json'])
    t.equal(isBelow(path), false, path)
})

t.test('a prefix in an unusual spelling has the same folded form', async (t) => {
  for (const prefix of ['/API/Billing', '/api/billing;v=1', '/api/billing.', '/api/billing%20'])
    t.same(foldedPrefix(prefix), ['api', 'billing'], prefix)
  t.same(foldedPrefix('/'), [])
})

t.test('a template is compared with a prefix in every interpretation of its path', async (t) => {
  const relation = (template: string, suffixes = false) =>
    foldedRelation(templateReadings(template), ['api', 'billing'], { suffixes })
  for (const path of ['/api/Billing/{id}', '/api/billing;x/**', '/api/%2562illing', '/API/billing./x'])
    t.equal(relation(path), 'always', path)
  for (const path of ['/**', '/Api/**', '/api/{any}/7', '/{a}/billing', '/{a}/{b}'])
    t.equal(relation(path), 'sometimes', path)
  for (const path of ['/', '/api', '/api/courses/**', '/api/billing.json', '/{a}/courses'])
    t.equal(relation(path), 'never', path)
  t.equal(relation('/api/billing.json', true), 'always')
})

t.test('the cost of a path with many encodings, dots or parameters is linear', async (t) => {
  const isBelow = isBelowAnyFolded(['/api/billing'], { suffixes: true })
  for (const part of ['%25', '.', '%2525', ';', '/.;', '%252E%252E%252F'])
    t.equal(isBelow(`/x${part.repeat(100_000)}`), false, part)
})

t.test('a parameter can match a segment that an upstream drops', async (t) => {
  const prefix = ['api', 'v1', 'billing']
  const relation = (template: string) =>
    foldedRelation(templateReadings(template), prefix, { suffixes: false })
  for (const path of [
    '/api/{x}/v1/billing/**',
    '/{x}/api/v1/billing',
    '/{x}/api/{y}/v1/{z}',
    '/{x}/api/**',
    '/{x}/{y}/api/v1/{z}/billing',
  ])
    t.equal(relation(path), 'sometimes', path)
  for (const path of ['/{x}/v1/api/billing', '/{x}/billing/v1/**', '/{x}/api/v1', '/{x}/other/**'])
    t.equal(relation(path), 'never', path)
  t.equal(relation('/api/v1/billing/{x}'), 'always')
})

t.test(
  'for every request below a prefix, the template that matches it is at least sometimes below the prefix',
  async () => {
    const segment = fc.oneof(
      fc.constantFrom('a', 'b', 'c', 'A', 'a;x').map((text) => ({ literal: text, text })),
      fc
        .constantFrom('a', 'b', 'c', ';a', '%3Ba', '%20', '...', 'B.', '%2561')
        .map((text) => ({ literal: undefined, text })),
    )
    fc.assert(
      fc.property(
        fc.array(segment, { maxLength: 6 }),
        fc.boolean(),
        fc.array(fc.constantFrom('a', 'b', 'c'), { minLength: 1, maxLength: 3 }),
        fc.boolean(),
        (segments, below, prefix, suffixes) => {
          const path = `/${segments.map(({ text }) => text).join('/')}`
          const parts = segments.map(({ literal }, at) => literal ?? `{p${at}}`)
          const readings = templateReadings(`/${[...parts, ...(below ? ['**'] : [])].join('/')}`)
          const isBelow = isBelowAnyFolded([`/${prefix.join('/')}`], { suffixes })(path)
          return !isBelow || foldedRelation(readings, prefix, { suffixes }) !== 'never'
        },
      ),
      { numRuns: 5_000 },
    )
  },
)

t.test('the cost of a template with many parameters is linear', async (t) => {
  const template = Array.from({ length: 250 }, (_, at) => `/{p${at}}`).join('')
  const prefix = Array.from({ length: 100 }, () => 'a')
  t.equal(foldedRelation(templateReadings(`${template}/b`), prefix, { suffixes: false }), 'sometimes')
  t.equal(foldedRelation(templateReadings(`/b${template}`), prefix, { suffixes: false }), 'never')
})
