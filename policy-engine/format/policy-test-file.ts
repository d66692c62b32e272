import type { Static } from 'typebox'
import { compileValidator } from '../../platform/diagnostics/schema/compile-validator.ts'
import { Type } from '../../platform/diagnostics/schema/schema-builder.ts'
import { Name, open } from './common-schemas.ts'
import { HeaderValues } from './header-schemas.ts'

const TestedRequest = Type.Object(
  {
    method: Type.Enum(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'], {
      description: 'The method of the request.',
    }),
    path: Type.String({
      description: 'The path that clients send, with the mount and an optional query.',
      pattern: '^/[\\x21-\\x7e]*$',
      maxLength: 8192,
      'x-is': 'a path such as /api/courses/42?view=full, percent-encoded',
    }),
    mode: Type.Optional(
      Type.Enum(['proxy', 'decision'], {
        description:
          'proxy: the gateway forwards the request. decision: an ingress asks the decision endpoint. Default: all routes are served.',
      }),
    ),
    headers: Type.Optional(
      HeaderValues(
        'The headers of the request. Use `token` in place of Authorization.',
        'The value of the header.',
      ),
    ),
  },
  { ...open, description: 'The request.' },
)

const Expectation = Type.Object(
  {
    decision: Type.Enum(['allow', 'deny', 'challenge'], {
      description:
        'allow: the gateway forwards the request. challenge: the gateway responds 401 with information on how to get a token. deny: any other rejection.',
    }),
    as: Type.Optional(
      Type.Enum(['token', 'anonymous'], { description: 'The identity of an allowed request.' }),
    ),
    status: Type.Optional(
      Type.Integer({ description: 'The status of a rejection.', minimum: 400, maximum: 599 }),
    ),
    error: Type.Optional(
      Type.String({
        description: 'The member `error` of the response body, for example insufficient_scope.',
        minLength: 1,
      }),
    ),
    missing: Type.Optional(
      Type.Array(Type.String({ description: 'A scope of config/scopes.yaml.', minLength: 1 }), {
        description: 'The scopes that the token lacks, in the order of the policy.',
      }),
    ),
    route: Type.Optional(
      Type.String({
        description: 'The route that matches the request, for example get-course.',
        minLength: 1,
      }),
    ),
    upstreamPath: Type.Optional(
      Type.String({ description: 'The path of the request to the upstream.', minLength: 1 }),
    ),
  },
  { ...open, description: 'The expected decision. The test checks only the listed keys.' },
)

export const PolicyTestEntry = Type.Object(
  {
    it: Type.String({
      description: 'The name of the test, for example: denies a write with only the read scope.',
      minLength: 1,
      maxLength: 256,
    }),
    request: TestedRequest,
    token: Type.Optional(
      Type.Object(
        {},
        {
          additionalProperties: true,
          description:
            'The claims of the token. Without this key, the test sends no token. { } is a token without scopes.',
        },
      ),
    ),
    expect: Expectation,
  },
  { ...open, description: 'One test.' },
)

export type PolicyTestEntry = Static<typeof PolicyTestEntry>

/** Schema of `<name>_test.yaml`. The loader, the types and the JSON Schema for editors all derive from this schema. */
export const PolicyTestFileSchema = Type.Object(
  {
    apiVersion: Type.Enum(['scopegate/v1'], { description: 'The version of this format.' }),
    kind: Type.Enum(['PolicyTest'], { description: 'The kind of the file.' }),
    policy: Name('The name of the tested policy.'),
    tests: Type.Array(PolicyTestEntry, { description: 'The tests.', minItems: 1 }),
  },
  {
    ...open,
    $id: 'https://scopegate.dev/schemas/policy-test.v1.json',
    description: 'Tests of a policy of Scopegate, in a separate file.',
  },
)

export type PolicyTestFile = Static<typeof PolicyTestFileSchema>

/** Validates plain data against the schema. Codes: P101 to P106. */
export const checkPolicyTestFile = compileValidator(PolicyTestFileSchema, { letter: 'P' })
