import type { DatabaseSync } from 'node:sqlite'
import type { Document, Fields } from './json-schema.ts'

export type PublicView = {
  /** SQL condition on the family's table that selects the public rows. The text is constant, never input. */
  readonly where: string
  /** Besides `id`, anonymous callers can read these fields. */
  readonly fields: readonly string[]
  /** Removes private parts of a public field. */
  readonly trim?: (document: Document) => Document
}

/** A violation of a rule that a schema cannot express. */
export type RuleViolation = { readonly field: string; readonly problem: string }

/**
 * Several resources of one kind. The routes are `GET /api/<family>`, `GET /api/<family>/{id}`, and the writes of a
 * writable family.
 */
export type CollectionFamily = {
  readonly kind: 'collection'
  /** For example `membership_plans`. Also the name in scopes, and the name of the table. */
  readonly name: string
  /** Names in operation IDs, for example `membership-plan` and `membership-plans`. */
  readonly singular: string
  readonly plural: string
  /** One sentence for the documentation. */
  readonly about: string
  /** IDs have the format `<idPrefix>_<number of four digits or more>`. */
  readonly idPrefix: string
  readonly writable: boolean
  /** Fields that writers send and identified callers read. */
  readonly fields: Fields
  /** The service computes these fields on every read. */
  readonly derived?: { readonly fields: Fields; readonly from: (document: Document) => Document }
  /** In these fields, each value must be unique. */
  readonly unique?: readonly string[]
  /** Text fields that filter a list. A public view must include these fields. */
  readonly filters?: readonly string[]
  /** If undefined, anonymous callers see an empty list. */
  readonly publicView: PublicView | undefined
  readonly check?: (document: Document) => RuleViolation | undefined
}

/** The school has one resource, or each subject has one resource. */
export type SingletonFamily = {
  readonly kind: 'singleton'
  readonly name: string
  readonly about: string
  /** `subject` means one resource per identified caller. The first access creates the resource. */
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

/** The caller in the identity headers of the gateway. */
export type Caller = {
  readonly subject: string
  readonly clientId: string | undefined
  readonly scopes: readonly string[]
}

/** Read-only figures. The service computes the figures from the tables on every read. */
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

/** In the path, hyphens replace the underscores of the name. */
export function familyPath(family: { readonly name: string }): string {
  return `/api/${family.name.replaceAll('_', '-')}`
}
