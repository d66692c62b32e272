/** A comment on a line of its own. */
export type OwnLine = { readonly text: string; readonly blankBefore: boolean }

/** An entry of a map or of a list, with the comments that move along with it. */
export type Item = {
  /** The text of its key as it is written in the end; undefined in a list. */
  readonly key: string | undefined
  readonly value: Value
  /** Where it starts and ends in the source. UTF-16 units. */
  readonly start: number
  readonly end: number
  /** Of the first character, from 0. */
  readonly column: number
  /** On lines of their own above it. */
  readonly before: OwnLine[]
  /** On its line, or on that of its key. */
  trailing: string | undefined
  /** Whether an empty line stands right above it. */
  readonly blankBefore: boolean
}

/** A value in the tree that is laid out. */
export type Value =
  | {
      readonly kind: 'scalar'
      /** What is written; texts are quoted where they have to be. */
      readonly data: unknown
      /** How it was written, for numbers, whose form may say more than their value. */
      readonly source: string
    }
  | Collection

/** A map or a list. */
export type Collection = {
  readonly kind: 'map' | 'list'
  items: readonly Item[]
  /** Whether it stood in brackets. */
  readonly flow: boolean
  readonly start: number
  readonly end: number
  /** Comments below the last entry. */
  readonly tail: OwnLine[]
}
