import { readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { Ajv2020 } from 'ajv/dist/2020.js'
import fc from 'fast-check'
import t from 'tap'
import { readYamlFile } from '../../platform/diagnostics/yaml/yaml-document.ts'
import { findPackageRoot } from '../../platform/process/package-root.ts'
import { checkPolicyFile } from '../../policy-engine/format/policy-file.ts'
import { policySchema } from '../../policy-engine/format/policy-schema.ts'
import { checkPolicyTestFile } from '../../policy-engine/format/policy-test-file.ts'
import { arbitraryOfSchema } from '../fixtures/arbitrary-of-schema.ts'

const ROOT = findPackageRoot()
const RUNS = Number(process.env['FUZZ_SCHEMA_RUNS'] ?? 2_000)
const nowhere = { file: 'x', line: undefined, column: undefined, length: 1, text: undefined }

/** Each file format has two validators: the printed JSON Schema for editors, and the structural check of the loader. */
const FORMATS = [
  { kind: 'Policy', suffix: '.policy.yaml', load: checkPolicyFile },
  { kind: 'PolicyTest', suffix: '_test.yaml', load: checkPolicyTestFile },
] as const

const editors = FORMATS.map((format) => {
  const ajv = new Ajv2020({ strict: true, allowUnionTypes: true, strictRequired: false, ownProperties: true })
  ajv.addVocabulary(['markdownDescription', 'defaultSnippets'])
  const schema = policySchema(format.kind)
  return { ...format, schema, isValid: ajv.compile(schema) }
})

function filesBelow(folder: string): readonly string[] {
  return readdirSync(folder).flatMap((name) => {
    const path = join(folder, name)
    return statSync(path).isDirectory() ? filesBelow(path) : [path]
  })
}

for (const { kind, suffix, load, isValid } of editors)
  t.test(
    `the JSON Schema and the loader agree about every valid and invalid ${kind} in this repository`,
    async (t) => {
      let compared = 0
      for (const folder of ['policies', 'test/policies/broken'])
        for (const file of filesBelow(join(ROOT, folder)).filter((one) => one.endsWith(suffix))) {
          const { value } = readYamlFile(file, { shownAs: file, letter: 'P' })
          if (value === undefined) continue
          compared += 1
          const said = load(value, () => nowhere)
          t.equal(
            isValid(value),
            said.length === 0,
            `${file}: ${said[0]?.message ?? isValid.errors?.[0]?.message}`,
          )
        }
      t.ok(compared > 0)
    },
  )

for (const { kind, schema, load, isValid } of editors)
  t.test(
    `the JSON Schema and the loader agree about ${RUNS} generated documents of the kind ${kind}`,
    async (t) => {
      const seen = { good: 0, bad: 0 }
      fc.assert(
        fc.property(arbitraryOfSchema(schema), (document) => {
          const good = load(document, () => nowhere).length === 0
          seen[good ? 'good' : 'bad'] += 1
          if (isValid(document) !== good)
            throw new Error(`the loader says ${good}, the schema ${JSON.stringify(isValid.errors)}`)
        }),
        { numRuns: RUNS },
      )
      t.ok(seen.good > RUNS / 50, `${seen.good} valid documents`)
      t.ok(seen.bad > RUNS / 50, `${seen.bad} invalid documents`)
    },
  )
