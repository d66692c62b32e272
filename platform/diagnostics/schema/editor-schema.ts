import { closeObjects } from './compile-validator.ts'

export type EditorSchema = Readonly<Record<string, unknown>>

/** Editor snippets for new list items, by the key of the list. */
export type Snippets = Readonly<Record<string, { readonly label: string; readonly body: unknown }>>

const DIALECT = 'https://json-schema.org/draft/2020-12/schema'

/** Formats that only our validator knows. A strict validator rejects a schema with an unknown format. */
const OUR_FORMATS: readonly unknown[] = ['cidr', 'url']

/**
 * Returns the JSON Schema of a file for editors. The result derives from the schema that the loader of the file uses.
 * Dialect: JSON Schema 2020-12. VS Code also displays `markdownDescription` and `defaultSnippets`.
 * @param name name of the schema in its identifier, such as `policy`. The identifier is not an address.
 */
export function editorSchema(
  source: object,
  {
    name,
    title,
    snippets = {},
  }: { readonly name: string; readonly title: string; readonly snippets?: Snippets },
): EditorSchema {
  const closed = closeObjects(JSON.parse(JSON.stringify(source)))
  const $id = `https://scopegate.dev/schemas/${name}.v1.json`
  const { $id: _own, ...rest } = forEditors(closed, snippets)
  return { $schema: DIALECT, $id, title: `Scopegate ${title}`, ...rest }
}

/** Removes the `x-` keywords, and adds Markdown descriptions that list enum values. */
function forEditors(schema: EditorSchema, snippets: Snippets): EditorSchema {
  const kept = Object.entries(schema).filter(
    ([keyword, value]) => !keyword.startsWith('x-') && !(keyword === 'format' && OUR_FORMATS.includes(value)),
  )
  return {
    ...Object.fromEntries(kept.map(([keyword, value]) => [keyword, inner(keyword, value, snippets)])),
    ...markdown(schema),
  }
}

function inner(keyword: string, value: unknown, snippets: Snippets): unknown {
  if (keyword === 'properties' || keyword === 'patternProperties')
    return Object.fromEntries(
      Object.entries(value as Record<string, EditorSchema>).map(([name, one]) => {
        const snippet = snippets[name]
        const editor = forEditors(one, snippets)
        return [name, snippet === undefined ? editor : withSnippet(editor, snippet)]
      }),
    )
  if (keyword === 'anyOf' || keyword === 'oneOf' || keyword === 'allOf')
    return (value as readonly EditorSchema[]).map((one) => forEditors(one, snippets))
  return keyword === 'items' ? forEditors(value as EditorSchema, snippets) : value
}

function withSnippet(schema: EditorSchema, snippet: Snippets[string]): EditorSchema {
  return { ...schema, items: { ...(schema['items'] as EditorSchema), defaultSnippets: [snippet] } }
}

function markdown({ description, enum: choices }: EditorSchema): EditorSchema {
  if (typeof description !== 'string' || !Array.isArray(choices) || choices.length < 2) return {}
  return { markdownDescription: `${description}\n\nOne of ${choices.map((one) => `\`${one}\``).join(', ')}.` }
}
