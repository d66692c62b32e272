/** A comment on a line of its own. */
export type OwnLine = { readonly text: string; readonly blankBefore: boolean }

/** An entry of a map or of a list, with the comments that move along with it. */
export type Item = {
  /** The key without quotes; undefined in a list. */
  readonly key: string | undefined
  readonly value: Value
  /** Start and end in the source. UTF-16 units. */
  readonly start: number
  readonly end: number
  /** Column of the first character, from 0. */
  readonly column: number
  /** Comments on their own lines above the entry. */
  readonly before: OwnLine[]
  /** Comment on the line of the entry or of its key. */
  trailing: string | undefined
  /** True when an empty line precedes the entry. */
  readonly blankBefore: boolean
}

export type Value =
  | {
      readonly kind: 'scalar'
      /** The value to write. The writer adds quotes where necessary. */
      readonly data: unknown
      /** The source text, for numbers, because their notation can contain more than their value. */
      readonly source: string
    }
  | Collection

export type Collection = {
  readonly kind: 'map' | 'list'
  items: readonly Item[]
  /** True when the source used brackets. */
  readonly flow: boolean
  readonly start: number
  readonly end: number
  /** Comments below the last entry. */
  readonly tail: OwnLine[]
}
