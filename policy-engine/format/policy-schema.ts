import { PolicyFileSchema } from './policy-file.ts'
import { PolicyTestFileSchema } from './policy-test-file.ts'

type Schema = Readonly<Record<string, unknown>>

const DIALECT = 'https://json-schema.org/draft/2020-12/schema'

/** Editor snippets for new list items, by the key of the list. */
const SNIPPETS: Readonly<Record<string, { readonly label: string; readonly body: unknown }>> = {
  routes: {
    label: 'a route',
    body: {
      name: '$1',
      match: { methods: ['$2'], path: '$3' },
      anonymous: '$4',
      scopes: { all: ['$5'] },
    },
  },
  tests: {
    label: 'a test',
    body: {
      it: '$1',
      request: { method: '$2', path: '$3' },
      token: { scope: '$4' },
      expect: { decision: '$5' },
    },
  },
}

/**
 * Returns the JSON Schema of policies or of test files for editors. The result derives from the schema that the loader
 * uses for validation.
 * Dialect: JSON Schema 2020-12. VS Code also displays `markdownDescription` and `defaultSnippets`.
 */
export function policySchema(kind: 'Policy' | 'PolicyTest'): Schema {
  const source = kind === 'Policy' ? PolicyFileSchema : PolicyTestFileSchema
  const { $id, ...rest } = forEditors(JSON.parse(JSON.stringify(source)) as Schema)
  return { $schema: DIALECT, $id, title: `Scopegate ${kind}`, ...rest }
}

/** Removes the `x-` keywords, and adds Markdown descriptions that list enum values. */
function forEditors(schema: Schema): Schema {
  const kept = Object.entries(schema).filter(([keyword]) => !keyword.startsWith('x-'))
  return {
    ...Object.fromEntries(kept.map(([keyword, value]) => [keyword, inner(keyword, value)])),
    ...markdown(schema),
  }
}

function inner(keyword: string, value: unknown): unknown {
  if (keyword === 'properties' || keyword === 'patternProperties')
    return Object.fromEntries(
      Object.entries(value as Record<string, Schema>).map(([name, one]) => {
        const snippet = SNIPPETS[name]
        const editor = forEditors(one)
        return [name, snippet === undefined ? editor : withSnippet(editor, snippet)]
      }),
    )
  if (keyword === 'anyOf' || keyword === 'oneOf' || keyword === 'allOf')
    return (value as readonly Schema[]).map(forEditors)
  return keyword === 'items' ? forEditors(value as Schema) : value
}

function withSnippet(schema: Schema, snippet: (typeof SNIPPETS)[string]): Schema {
  return { ...schema, items: { ...(schema['items'] as Schema), defaultSnippets: [snippet] } }
}

function markdown({ description, enum: choices }: Schema): Schema {
  if (typeof description !== 'string' || !Array.isArray(choices) || choices.length < 2) return {}
  return { markdownDescription: `${description}\n\nOne of ${choices.map((one) => `\`${one}\``).join(', ')}.` }
}
