import type { DatabaseSync } from 'node:sqlite'
import type { Document, Fields } from './json-schema.ts'

/** What a caller without an identity is told about a collection. */
export type PublicView = {
  /** SQL condition over the family's table: the rows that the public may know of. Constant text, never input. */
  readonly where: string
  /** The fields that the public may read, besides `id`. */
  readonly fields: readonly string[]
  /** Takes private parts out of what is left, where a whole field is too coarse. */
  readonly trim?: (document: Document) => Document
}

/** A rule that a schema can not express: the field that breaks it and how. */
export type BrokenRule = { readonly field: string; readonly problem: string }

/** Many resources of one kind: `GET /api/<family>`, `GET /api/<family>/{id}`, and the writes when it is writable. */
export type CollectionFamily = {
  readonly kind: 'collection'
  /** As in its scopes, and the name of its table: `membership_plans`. */
  readonly name: string
  /** As in operation names: `membership-plan`, `membership-plans`. */
  readonly singular: string
  readonly plural: string
  /** One sentence for the documentation. */
  readonly about: string
  /** Ids are `<idPrefix>_<number of four digits or more>`. */
  readonly idPrefix: string
  readonly writable: boolean
  /** What writers send and everybody identified reads. */
  readonly fields: Fields
  /** What is worked out from the fields whenever the resource is read. */
  readonly derived?: { readonly fields: Fields; readonly from: (document: Document) => Document }
  /** Fields whose value no two members share. */
  readonly unique?: readonly string[]
  /** Text fields that a list can be narrowed by; part of the public view wherever there is one. */
  readonly filters?: readonly string[]
  /** Undefined: the public sees an empty list. */
  readonly publicView: PublicView | undefined
  readonly check?: (document: Document) => BrokenRule | undefined
}

/** One resource: of the whole school, or of each subject. */
export type SingletonFamily = {
  readonly kind: 'singleton'
  readonly name: string
  readonly about: string
  /** `subject`: everybody identified has their own, made on first sight. */
  readonly owner: 'school' | 'subject'
  readonly fields: Fields
  /** What it is before anybody changed it. */
  readonly initial: (subject: string) => Document
  /** Read-only fields that tell who asks; for singletons of a subject. */
  readonly asker?: {
    readonly fields: Fields
    readonly from: (asker: Asker) => Document
  }
  readonly publicView: { readonly fields: readonly string[]; readonly constant?: Document }
}

/** Who asks, as the gateway says in its identity headers. */
export type Asker = {
  readonly subject: string
  readonly clientId: string | undefined
  readonly scopes: readonly string[]
}

/** Figures worked out from the tables at the moment of asking. Read only. */
export type ReportFamily = {
  readonly kind: 'report'
  readonly name: string
  readonly about: string
  readonly fields: Fields
  readonly read: (database: DatabaseSync) => Document
  readonly publicFields: Fields
  readonly readPublic: (database: DatabaseSync) => Document
}

/** A resource family of the platform. */
export type Family = CollectionFamily | SingletonFamily | ReportFamily

/** Where a family is served: hyphens for underscores. */
export function familyPath(family: { readonly name: string }): string {
  return `/api/${family.name.replaceAll('_', '-')}`
}
