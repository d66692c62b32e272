import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { Ajv2020 } from 'ajv/dist/2020.js'
import t from 'tap'
import { parseYaml, readYamlFile } from '../../../platform/diagnostics/yaml/yaml-document.ts'
import { findPackageRoot } from '../../../platform/process/package-root.ts'
import { checkPolicyFile } from '../../../policy-engine/format/policy-file.ts'
import { policySchema } from '../../../policy-engine/format/policy-schema.ts'

const POLICIES = join(findPackageRoot(), 'policies')

/**
 * Returns an independent JSON Schema validator. The validator accepts only the keywords of the dialect and of editors.
 */
function aValidator(kind: 'Policy' | 'PolicyTest') {
  const ajv = new Ajv2020({ strict: true, allowUnionTypes: true, strictRequired: false })
  ajv.addVocabulary(['markdownDescription', 'defaultSnippets'])
  return ajv.compile(policySchema(kind))
}

const POLICY = `apiVersion: scopegate/v1
kind: Policy
name: things
upstream: things
routes:
  - name: list
    match: { methods: [GET], path: /things }
`

t.test('policySchema() rejects the same structural errors as the loader', async (t) => {
  const isValid = aValidator('Policy')
  for (const [from, to] of [
    ['kind: Policy', 'kind: Polcy'],
    ['name: things', 'name: Things'],
    ['upstream: things', "upstream: ''"],
    ['[GET]', '[GRAB]'],
    ['[GET]', '[]'],
    ['routes:', 'timeut: 5s\nroutes:'],
    ['path: /things', 'path: 4'],
    ['routes:', 'defaults: { timeout: soon }\nroutes:'],
    ['    match', '    scopes: [things:read]\n    match'],
    ['    match', '    scopes: { al: [things:read] }\n    match'],
  ] as const) {
    const { value, locationOf } = parseYaml(POLICY.replace(from, to), { shownAs: 'x', letter: 'P' })
    t.equal(isValid(value), false, to)
    t.not(checkPolicyFile(value, locationOf).length, 0, to)
  }
  t.equal(isValid(parseYaml(POLICY, { shownAs: 'x', letter: 'P' }).value), true)
})

t.test('policySchema() accepts every shipped policy, and every key has a description', async (t) => {
  const isValid = aValidator('Policy')
  aValidator('PolicyTest')
  for (const name of readdirSync(POLICIES).filter((one) => one.endsWith('.policy.yaml'))) {
    const { value } = readYamlFile(join(POLICIES, name), { shownAs: name, letter: 'P' })
    t.equal(isValid(value), true, `${name} ${JSON.stringify(isValid.errors)}`)
  }
  for (const kind of ['Policy', 'PolicyTest'] as const) {
    const schema = policySchema(kind)
    t.equal(schema['$schema'], 'https://json-schema.org/draft/2020-12/schema')
    t.match(schema['$id'], /^https:\/\/scopegate\.dev\/schemas\/policy(-test)?\.v1\.json$/)
    for (const [path, description] of describedKeys(schema, kind))
      t.type(description, 'string', `${path} has a description`)
    t.notMatch(JSON.stringify(schema), /"x-is"|"~/)
  }
})

function describedKeys(schema: unknown, path: string): readonly (readonly [string, unknown])[] {
  if (typeof schema !== 'object' || schema === null) return []
  return Object.entries(schema).flatMap(([keyword, value]) => {
    if (keyword !== 'properties') return keyword === 'defaultSnippets' ? [] : describedKeys(value, path)
    return Object.entries(value as Record<string, { description?: unknown }>).flatMap(([name, one]) => [
      [`${path}.${name}`, one.description] as const,
      ...describedKeys(one, `${path}.${name}`),
    ])
  })
}
