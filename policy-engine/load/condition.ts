/** Literal value in a policy. Comparisons do not convert types: 1 is not "1". */
export type Literal = string | number | boolean

/** Reference to a request value: `{path.x}`, `{header.x}` (in lower case) or `{query.x}`. The value is always text. */
export type RequestValue = { readonly from: 'path' | 'header' | 'query'; readonly name: string }

/** Value that a claim is compared with. Plain data that JSON can represent. */
export type Operand = Literal | RequestValue

/** Test of a claim. A list claim passes `equals`, `in` and `matches` if one of its members passes. */
export type ConditionTest =
  | { readonly equals: Operand }
  | { readonly in: readonly Operand[] }
  /** Glob: `*` matches any number of characters. All other characters match literally. */
  | { readonly matches: string }
  | { readonly exists: boolean }

export type Condition = {
  /** Claim name or, if it starts with `/`, the JSON pointer (RFC 6901) to a nested claim. */
  readonly claim: string
  readonly test: ConditionTest
  readonly source: { readonly file: string; readonly line: number; readonly column: number }
}
