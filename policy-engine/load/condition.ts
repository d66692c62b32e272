/** A value that a policy spells out. Text is compared with text, numbers with numbers: 1 is not "1". */
export type Literal = string | number | boolean

/** A value that the request brings: `{path.x}`, `{header.x}` (in small letters) or `{query.x}`. Always text. */
export type RequestValue = { readonly from: 'path' | 'header' | 'query'; readonly name: string }

/** What a claim is compared with. Plain data: it stands in JSON as it is. */
export type Operand = Literal | RequestValue

/** What a condition asks of a claim. A claim that is a list meets `equals`, `in` and `matches` when one of its members does. */
export type ConditionTest =
  | { readonly equals: Operand }
  | { readonly in: readonly Operand[] }
  /** A glob: `*` stands for any run of characters, everything else for itself. */
  | { readonly matches: string }
  | { readonly exists: boolean }

/** One condition of a policy's `when`. */
export type Condition = {
  /** The name of a claim or, with a `/` in front, the JSON pointer (RFC 6901) to one that lies deeper. */
  readonly claim: string
  readonly test: ConditionTest
  /** Where it stands. */
  readonly source: { readonly file: string; readonly line: number; readonly column: number }
}
