import { Ajv2020 } from 'ajv/dist/2020.js'
import t from 'tap'
import { families } from '../../../examples/learning-platform/families/families.ts'
import { familyPath } from '../../../examples/learning-platform/families/family.ts'
import { freshDraft } from './fresh-draft.ts'
import { startPlatform } from './start-platform.ts'

t.test('the document describes every operation, and every response conforms to it', async (t) => {
  const platform = await startPlatform(t)
  const { json: document, headers } = await platform.ask('/openapi.json')
  t.match(headers.get('content-type'), /^application\/json/)
  t.equal(document['openapi'], '3.1.1')
  const paths = document['paths'] as Record<string, Record<string, Operation>>
  const operations = Object.entries(paths).flatMap(([path, item]) =>
    Object.entries(item).map(([method, operation]) => ({ path, method: method.toUpperCase(), ...operation })),
  )
  t.same(operations.map(({ operationId }) => operationId).sort(), expectedOperations().sort())
  const ajv = new Ajv2020({ strict: false, validateFormats: false })
  ajv.addSchema({ $id: 'doc:/openapi', ...document })
  const conforms = (operation: (typeof operations)[number], answer: { status: number; text: string }) => {
    const pointer = [
      'paths',
      operation.path,
      operation.method.toLowerCase(),
      'responses',
      `${answer.status}`,
      'content',
      'application/json',
      'schema',
    ]
    const fragment = pointer
      .map((part) => encodeURIComponent(part.replaceAll('~', '~0').replaceAll('/', '~1')))
      .join('/')
    const what = `${operation.operationId} ${answer.status}`
    if (answer.status === 204) return t.equal(answer.text, '', what)
    const validate = ajv.compile({ $ref: `doc:/openapi#/${fragment}` })
    const isValid = validate(JSON.parse(answer.text))
    return t.ok(isValid, what, { errors: validate.errors })
  }
  for (const operation of operations) {
    const family = families.find(({ name }) => name === operation.tags[0])
    const first = family?.kind === 'collection' ? `${family.idPrefix}_0001` : ''
    const path = operation.path.replace('{id}', first)
    if (operation.method === 'GET') {
      // A page with 100 items contains all data of a new database.
      const address = operation.operationId.startsWith('list-') ? `${path}?limit=100` : path
      conforms(operation, await platform.askAs('reader', address))
      conforms(operation, await platform.ask(address))
      continue
    }
    conforms(operation, await platform.ask(path, { method: operation.method }))
    if (family?.kind === 'collection') {
      const draft = await freshDraft(platform, family, operation.method.length)
      const created = await platform.askAs('writer', familyPath(family), { json: draft })
      if (operation.method === 'POST') conforms(operation, created)
      const own = `${familyPath(family)}/${String(created.json['id'])}`
      if (operation.method === 'POST') await platform.askAs('writer', own, { method: 'DELETE' })
      else {
        const json =
          operation.method === 'DELETE' ? undefined : operation.method === 'PUT' ? draft : { ...draft }
        conforms(operation, await platform.askAs('writer', own, { method: operation.method, json }))
        await platform.askAs('writer', own, { method: 'DELETE' })
      }
    } else {
      const { json } = await platform.askAs('writer', path)
      const draft = Object.fromEntries(
        Object.keys(family?.kind === 'singleton' ? family.fields : {}).map((key) => [key, json[key]]),
      )
      conforms(operation, await platform.askAs('writer', path, { method: operation.method, json: draft }))
    }
    conforms(
      operation,
      await platform.askAs('writer', path, { method: operation.method, json: { surprise: 1 } }),
    )
  }
})

type Operation = { readonly operationId: string; readonly tags: readonly string[] }

function expectedOperations(): string[] {
  return [
    'read-health',
    'read-openapi',
    ...families.flatMap((family) => {
      if (family.kind === 'report') return [`read-${family.name}`]
      if (family.kind === 'singleton')
        return ['read', 'replace', 'change'].map((verb) => `${verb}-${family.name}`)
      const verbs = family.writable ? ['read', 'create', 'replace', 'change', 'delete'] : ['read']
      return [`list-${family.plural}`, ...verbs.map((verb) => `${verb}-${family.singular}`)]
    }),
  ]
}
