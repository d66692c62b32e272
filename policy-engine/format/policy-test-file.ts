import Type from 'typebox'
import { compileValidator } from '../../platform/diagnostics/schema/compile-validator.ts'
import { Name, open } from './common-schemas.ts'
import { PolicyTestEntry } from './policy-test-entry.ts'

/** Schema of `<name>_test.yaml`. The source of the loader, of the types and of the JSON Schema for editors. */
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
    description: 'Tests of a policy of Scopegate, in a file of their own.',
  },
)

export type PolicyTestFile = Type.Static<typeof PolicyTestFileSchema>

/** Validates plain data against the schema. Codes: P101 to P106. */
export const checkPolicyTestFile = compileValidator(PolicyTestFileSchema, { letter: 'P' })
