import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { decisionOf } from '../../../gateway/observability/decision.ts'
import { formatRejection } from '../../../gateway/pipeline/error-response.ts'
import { findPackageRoot } from '../../../platform/process/package-root.ts'
import type { Rejection, TokenFault } from '../../../policy-engine/decide/rejection.ts'
import { canonicalTarget } from '../../../policy-engine/match/canonical-target.ts'

// Clients and operators rely on request-path.md, rejections.md and limits.md in docs/. These pages must list exactly
// the results of the code.
const root = findPackageRoot()
const read = (path: string): string => readFileSync(join(root, path), 'utf8')
const page = ['request-path', 'rejections', 'limits'].map((name) => read(`docs/${name}.md`)).join('\n')

type Row = readonly [one: string, two: string, three: string, four: string, five: string]

/** Returns the first five cells of each row of a table. `first` is the first column heading of the table. */
function tableOf(first: string): readonly Row[] {
  const lines = page.split('\n')
  const head = lines.findIndex((line) => line.startsWith(`| ${first} `))
  const end = lines.findIndex((line, at) => at > head && !line.startsWith('|'))
  return lines.slice(head + 2, end).map((line) => {
    const [, one = '', two = '', three = '', four = '', five = ''] = line
      .split('|')
      .map((cell) => cell.trim())
    return [one, two, three, four, five]
  })
}

const bare = (cell: string): string => cell.replaceAll('`', '')

/** One example of each kind of rejection. TypeScript reports a missing kind. */
const REJECTIONS: { readonly [Kind in Rejection['rejected']]: Extract<Rejection, { rejected: Kind }> } = {
  request_malformed: { rejected: 'request_malformed', detail: 'detail' },
  target_too_long: { rejected: 'target_too_long', limitBytes: 1 },
  headers_too_large: { rejected: 'headers_too_large', limitBytes: 1 },
  request_timed_out: { rejected: 'request_timed_out' },
  body_timed_out: { rejected: 'body_timed_out' },
  route_unknown: { rejected: 'route_unknown' },
  mcp_headers_missing: { rejected: 'mcp_headers_missing' },
  mcp_body_invalid: { rejected: 'mcp_body_invalid', detail: 'The body is not valid JSON.' },
  mcp_tools_unreadable: { rejected: 'mcp_tools_unreadable' },
  mcp_headers_differ: { rejected: 'mcp_headers_differ' },
  policy_unavailable: { rejected: 'policy_unavailable' },
  method_not_allowed: { rejected: 'method_not_allowed', allow: ['GET'] },
  credentials_ambiguous: { rejected: 'credentials_ambiguous', detail: 'detail' },
  token_missing: { rejected: 'token_missing', anonymous: 'challenge', needed: ['a'] },
  token_invalid: { rejected: 'token_invalid', fault: { reason: 'inactive' } },
  proof_invalid: { rejected: 'proof_invalid', fault: 'malformed' },
  proof_nonce: { rejected: 'proof_nonce', nonce: 'nonce' },
  token_unverifiable: { rejected: 'token_unverifiable', retryAfterSeconds: 1 },
  authentication_insufficient: {
    rejected: 'authentication_insufficient',
    fault: 'acr',
    rule: { acr: ['mfa'], maxAgeSeconds: 300 },
    needed: ['a'],
  },
  scope_missing: { rejected: 'scope_missing', needed: ['a'], missing: ['a'] },
  condition_failed: {
    rejected: 'condition_failed',
    condition: 'school_id equals {header.x-school-id}',
    source: { file: 'p.yaml', line: 1, column: 1 },
  },
  rate_limited: { rejected: 'rate_limited', retryAfterSeconds: 1, limit: 'default' },
  overloaded: { rejected: 'overloaded', retryAfterSeconds: 1 },
  sessions_exhausted: { rejected: 'sessions_exhausted', limit: 1, retryAfterSeconds: 1 },
  body_too_large: { rejected: 'body_too_large', limitBytes: 1 },
  upstream_unreachable: { rejected: 'upstream_unreachable' },
  upstream_broken: { rejected: 'upstream_broken' },
  upstream_timed_out: { rejected: 'upstream_timed_out' },
  upstream_credentials_unavailable: { rejected: 'upstream_credentials_unavailable', retryAfterSeconds: 1 },
  upstream_credentials_rejected: { rejected: 'upstream_credentials_rejected' },
  upstream_busy: { rejected: 'upstream_busy', retryAfterSeconds: 1 },
  upstream_ejected: { rejected: 'upstream_ejected', retryAfterSeconds: 1 },
  internal_error: { rejected: 'internal_error' },
}

const FAULTS: { readonly [Reason in TokenFault['reason']]: Extract<TokenFault, { reason: Reason }> } = {
  malformed: { reason: 'malformed' },
  unsupported_scheme: { reason: 'unsupported_scheme' },
  inactive: { reason: 'inactive' },
  expired: { reason: 'expired', secondsAgo: 1 },
  wrong_issuer: { reason: 'wrong_issuer' },
  wrong_algorithm: { reason: 'wrong_algorithm' },
  wrong_type: { reason: 'wrong_type' },
  unknown_key: { reason: 'unknown_key' },
  bad_signature: { reason: 'bad_signature' },
  not_yet_valid: { reason: 'not_yet_valid' },
  wrong_audience: { reason: 'wrong_audience', expected: 'https://api.test', actual: ['account'] },
  sender_constrained: { reason: 'sender_constrained' },
  proof_missing: { reason: 'proof_missing' },
  not_bound: { reason: 'not_bound' },
  wrong_key: { reason: 'wrong_key' },
  certificate_missing: { reason: 'certificate_missing' },
  wrong_certificate: { reason: 'wrong_certificate' },
  claims_missing: { reason: 'claims_missing' },
  claims_invalid: { reason: 'claims_invalid' },
}

function answerTo(rejection: Rejection) {
  const answer = formatRejection(rejection, {
    requestId: 'id',
    resourceMetadata: 'https://m',
    tokenEndpoint: undefined,
  })
  const headers = new Map<string, string>()
  for (let at = 0; at + 1 < answer.headers.length; at += 2)
    headers.set(answer.headers[at] ?? '', answer.headers[at + 1] ?? '')
  return { status: answer.status, body: JSON.parse(answer.body), headers }
}

const told = (rejection: Rejection): string => {
  const decision = decisionOf(rejection)
  return decision === undefined ? '' : `${decision.decision} ${decision.reason}`
}

t.test('every rejection has one row in docs/rejections.md, and every row is a rejection', async (t) => {
  const rows = tableOf('rejection').map(([name]) => bare(name))
  const inSource = [...read('policy-engine/decide/rejection.ts').matchAll(/readonly rejected: '(\w+)'/g)].map(
    ([, one]) => one,
  )
  t.same(rows.toSorted(), inSource.toSorted())
  t.same(rows.toSorted(), Object.keys(REJECTIONS).toSorted(), 'exactly one entry in this test')
})

t.test(
  'each row of docs/rejections.md states the status, the error code, the headers and the decision',
  async (t) => {
    for (const [name, status, error, headers, decision] of tableOf('rejection')) {
      const rejection = REJECTIONS[bare(name) as keyof typeof REJECTIONS]
      const answer = answerTo(rejection)
      t.equal(String(answer.status), status, name)
      t.equal(answer.body.error, bare(error), name)
      t.equal(told(rejection), bare(decision), name)
      const challenge = answer.headers.get('www-authenticate')
      const code = challenge === undefined ? undefined : (/\berror="(\w+)"/.exec(challenge)?.[1] ?? '')
      const shown = [
        ...(code === undefined ? [] : [`→ ${code}`.trim()]),
        ...[...answer.headers.keys()].filter((header) => header !== 'www-authenticate'),
      ]
      t.equal(shown.join(', '), bare(headers), name)
      if (challenge !== undefined) t.match(challenge, 'resource_metadata="https://m"')
    }
    const bareChallenge = answerTo({ rejected: 'token_missing', anonymous: 'deny', needed: ['a'] })
    t.equal(bareChallenge.headers.get('www-authenticate'), 'Bearer', '`deny` reveals nothing')
  },
)

t.test('every reason of an invalid token has one row, with its decision', async (t) => {
  const rows = tableOf('reason')
  const inSource = [...read('policy-engine/decide/rejection.ts').matchAll(/readonly reason: '(\w+)'/g)].map(
    ([, one]) => one,
  )
  t.same(rows.map(([name]) => bare(name)).toSorted(), inSource.toSorted())
  for (const [name, decision] of rows) {
    const fault = FAULTS[bare(name) as keyof typeof FAULTS]
    t.equal(told({ rejected: 'token_invalid', fault }), bare(decision), name)
    t.equal(answerTo({ rejected: 'token_invalid', fault }).body.error, 'invalid_token', name)
  }
})

t.test('canonicalTarget() converts every target spelling as its row states', async (t) => {
  const rows = tableOf('spelling')
  t.ok(rows.length > 15)
  for (const [spelling, becomes] of rows) {
    const rules = { method: 'GET', origin: 'http://api.example', limitBytes: 8192 }
    const target = canonicalTarget(bare(spelling), rules)
    t.equal('rejected' in target ? '400' : target.path + target.query, bare(becomes), spelling)
  }
})

t.test('every file and stage that the pages name exists', async (t) => {
  for (const [, file = ''] of page.matchAll(/`((?:gateway|docs|policies)\/[\w./-]+\.\w+)`/g))
    t.ok(existsSync(join(root, file)), file)
  const stages = [...page.matchAll(/^## (\d [a-z ]+)$/gm)].map(([, title = '']) => title)
  t.equal(stages.length, 9)
  for (const stage of stages) {
    const file = `${stage.slice(2).replaceAll(' ', '-')}.ts`
    // Stage 9 runs when the upstream responds, so the folder of the other stages does not contain its file.
    const folder = file === 'shape-response.ts' ? 'gateway/pipeline' : 'gateway/pipeline/stages'
    t.ok(existsSync(join(root, folder, file)), stage)
  }
})

t.test('each rejection has a different description, which contains its numbers', async (t) => {
  const described = Object.values(REJECTIONS)
    .filter(({ rejected }) => rejected !== 'request_malformed' && rejected !== 'credentials_ambiguous')
    .map((rejection) => [rejection, String(answerTo(rejection).body.error_description)] as const)
  for (const [rejection, description] of described) {
    t.match(description, /^[A-Z]\S*(?: \S+){3,}\.$/, `the description of ${rejection.rejected} is a sentence`)
    if ('limitBytes' in rejection) t.match(description, `${rejection.limitBytes} `, rejection.rejected)
  }
  t.equal(new Set(described.map(([, description]) => description)).size, described.length)
  t.match(
    answerTo({ rejected: 'rate_limited', retryAfterSeconds: 1, limit: 'default' }).body.error_description,
    /\b1 second\b/,
  )
  t.match(
    answerTo({ rejected: 'rate_limited', retryAfterSeconds: 7, limit: 'default' }).body.error_description,
    /\b7 seconds\b/,
  )
})
