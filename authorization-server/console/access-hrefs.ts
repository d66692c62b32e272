/** The grants that a form revokes, or that a list shows. */
export type GrantSelection = Partial<Record<'grant' | 'account' | 'client', string>>

/** Address of the list of grants. */
export function grantsHref(selection: GrantSelection): string {
  return `/console/grants?${new URLSearchParams(selection)}`
}

/** Address of the page that asks before a revocation. */
export function revokeHref(selection: GrantSelection): string {
  return `/console/revoke?${new URLSearchParams(selection)}`
}

/** Address of the page of a client. */
export function clientHref(client: string): string {
  return `/console/client?${new URLSearchParams({ client })}`
}

/** Reads the grants that a query or a form names. Empty values count as absent. */
export function readSelection(fields: { get(name: string): string | null | undefined }): GrantSelection {
  const entries = (['grant', 'account', 'client'] as const).flatMap((name) => {
    const value = fields.get(name)?.trim() ?? ''
    return value === '' ? [] : [[name, value] as const]
  })
  return Object.fromEntries(entries)
}
