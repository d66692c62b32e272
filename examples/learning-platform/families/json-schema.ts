/** This service uses only this part of JSON Schema 2020-12 for validation and documentation. */
export type JsonSchema = {
  readonly title?: string
  readonly description?: string
  readonly type?: string | readonly string[]
  readonly properties?: Readonly<Record<string, JsonSchema>>
  readonly required?: readonly string[]
  readonly additionalProperties?: boolean
  readonly minProperties?: number
  readonly items?: JsonSchema
  readonly minItems?: number
  readonly maxItems?: number
  readonly uniqueItems?: boolean
  readonly enum?: readonly (string | null)[]
  readonly minLength?: number
  readonly maxLength?: number
  readonly pattern?: string
  readonly format?: string
  readonly minimum?: number
  readonly maximum?: number
  readonly default?: unknown
  readonly examples?: readonly unknown[]
  readonly anyOf?: readonly JsonSchema[]
  /** The family of the resource with this ID. Every write checks that the resource exists. */
  readonly 'x-references'?: string
}

/** The fields of an object by name. A field with a `default` is optional. All other fields are required. */
export type Fields = Readonly<Record<string, JsonSchema>>

/** A resource in plain JSON, as the service stores and sends it. */
export type Document = Readonly<Record<string, unknown>>
