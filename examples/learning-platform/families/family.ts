import type { DatabaseSync } from 'node:sqlite'
import type { Document, Fields } from './json-schema.ts'

export type PublicView = {
  /** SQL condition on the family's table that selects the public rows. Constant text, never input. */
  readonly where: string
  /** The fields that the public can read, in addition to `id`. */
  readonly fields: readonly string[]
  /** Removes private parts of a public field. */
  readonly trim?: (document: Document) => Document
}

/** A violation of a rule that a schema cannot express. */
export type RuleViolation = { readonly field: string; readonly problem: string }

/** Several resources of one kind: `GET /api/<family>`, `GET /api/<family>/{id}`, and the writes when it is writable. */
export type CollectionFamily = {
  readonly kind: 'collection'
  /** Name in scopes, and name of the table: `membership_plans`. */
  readonly name: string
  /** Names in operation ids: `membership-plan`, `membership-plans`. */
  readonly singular: string
  readonly plural: string
  /** One sentence for the documentation. */
  readonly about: string
  /** Ids are `<idPrefix>_<number of four digits or more>`. */
  readonly idPrefix: string
  readonly writable: boolean
  /** Fields that writers send and identified callers read. */
  readonly fields: Fields
  /** Fields that are computed on every read. */
  readonly derived?: { readonly fields: Fields; readonly from: (document: Document) => Document }
  /** Fields with a unique value per resource. */
  readonly unique?: readonly string[]
  /** Text fields that filter a list. They are part of the public view, if there is one. */
  readonly filters?: readonly string[]
  /** Undefined: the public sees an empty list. */
  readonly publicView: PublicView | undefined
  readonly check?: (document: Document) => RuleViolation | undefined
}

/** One resource of the whole school, or one per subject. */
export type SingletonFamily = {
  readonly kind: 'singleton'
  readonly name: string
  readonly about: string
  /** `subject`: one resource per identified caller, created on first access. */
  readonly owner: 'school' | 'subject'
  readonly fields: Fields
  readonly initial: (subject: string) => Document
  /** Read-only fields about the caller, for singletons of a subject. */
  readonly caller?: {
    readonly fields: Fields
    readonly from: (caller: Caller) => Document
  }
  readonly publicView: { readonly fields: readonly string[]; readonly constant?: Document }
}

/** The caller, according to the identity headers of the gateway. */
export type Caller = {
  readonly subject: string
  readonly clientId: string | undefined
  readonly scopes: readonly string[]
}

/** Figures that are computed from the tables on every read. Read only. */
export type ReportFamily = {
  readonly kind: 'report'
  readonly name: string
  readonly about: string
  readonly fields: Fields
  readonly read: (database: DatabaseSync) => Document
  readonly publicFields: Fields
  readonly readPublic: (database: DatabaseSync) => Document
}

export type Family = CollectionFamily | SingletonFamily | ReportFamily

/** Returns the path of a family, with hyphens for underscores. */
export function familyPath(family: { readonly name: string }): string {
  return `/api/${family.name.replaceAll('_', '-')}`
}
