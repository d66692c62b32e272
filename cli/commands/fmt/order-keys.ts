import type { Collection, Item } from './layout-tree.ts'

type Schema = { readonly [keyword: string]: unknown }

/** Sorts the entries of every map into the key order of the schema. Unlisted keys come last. */
export function orderKeys(collection: Collection, schema: Schema | undefined): void {
  const properties = collection.kind === 'map' ? propertiesOf(schema) : {}
  const order = Object.keys(properties)
  const rank = ({ key }: Item): number => {
    const at = order.indexOf(key ?? '')
    return at === -1 ? order.length : at
  }
  if (order.length > 0) collection.items = collection.items.toSorted((a, b) => rank(a) - rank(b))
  for (const { key, value } of collection.items) {
    if (value.kind === 'scalar') continue
    orderKeys(
      value,
      collection.kind === 'map' ? properties[key ?? ''] : (schema?.['items'] as Schema | undefined),
    )
  }
}

/** Returns the properties of a schema and of all its alternatives. */
function propertiesOf(schema: Schema | undefined): Readonly<Record<string, Schema>> {
  const choices = (schema?.['anyOf'] ?? schema?.['oneOf'] ?? []) as readonly Schema[]
  return {
    ...((schema?.['properties'] as Record<string, Schema> | undefined) ?? {}),
    ...Object.assign({}, ...choices.map(propertiesOf)),
  }
}
