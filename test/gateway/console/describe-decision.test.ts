import t from 'tap'
import { describeDecision } from '../../../gateway/console/describe-decision.ts'
import type { DecisionRecord } from '../../../gateway/observability/decision-recorder.ts'
import type { Rejection, TokenFault } from '../../../policy-engine/decide/rejection.ts'
import { readRepositoryFile } from '../../fixtures/repository-texts.ts'

type Schema = { readonly properties?: Readonly<Record<string, Schema>>; readonly items?: Schema }

const SCHEMA = JSON.parse(readRepositoryFile('schemas/gateway.v1.json')) as Schema
const ISSUER = SCHEMA.properties?.['issuers']?.items

function remedyOf(rejection: Rejection): string {
  const entry = { requestId: 'id', timeMs: 0, status: 400, clientAddress: '192.0.2.1', routeFields: '' }
  const record = { entry, rejection, credential: 'bearer' } as DecisionRecord
  return describeDecision(record, { subject: 'hashed' }).fix.policyOwner
}

function hasKey(schema: Schema | undefined, path: string): boolean {
  return path.split('.').reduce((part, key) => part?.properties?.[key], schema) !== undefined
}

t.test('the remedies of a decision name only settings of gateway.yaml', (t) => {
  const faults: readonly TokenFault[] = [
    { reason: 'malformed' },
    { reason: 'wrong_type' },
    { reason: 'wrong_algorithm' },
    { reason: 'unknown_key' },
  ]
  for (const rejection of [
    ...faults.map((fault) => ({ rejected: 'token_invalid', fault }) as const),
    { rejected: 'sessions_exhausted', limit: 1, retryAfterSeconds: 1 },
    { rejected: 'target_too_long', limitBytes: 1 },
  ] as const) {
    const text = remedyOf(rejection)
    const keys = [...text.matchAll(/`([\w.]+)`/g)].map(([, key = '']) => key)
    t.ok(keys.length > 0, text)
    for (const key of keys) t.ok(hasKey(SCHEMA, key) || hasKey(ISSUER, key), `${text}: ${key}`)
  }
  t.match(remedyOf({ rejected: 'token_invalid', fault: { reason: 'wrong_type' } }), '`jwt.type`')
  t.end()
})

t.test('the remedy for rejected credentials of the gateway is the credentials of the upstream', async (t) => {
  const rejected = { rejected: 'upstream_credentials_rejected' } as const
  const unavailable = { rejected: 'upstream_credentials_unavailable', retryAfterSeconds: 1 } as const
  for (const rejection of [rejected, unavailable])
    t.match(remedyOf(rejection), '`credentials` of the upstream in upstreams.yaml')
})
