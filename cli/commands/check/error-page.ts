import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { findPackageRoot } from '../../../platform/process/package-root.ts'

/** Returns the path of a code's page, in the repository and in the installed package. */
export function errorPageAddress(code: string): string {
  return `docs/errors/${code}.md`
}

/** Returns the page of a code. Undefined when the page does not exist, e.g. in an image without documentation. */
export function readErrorPage(code: string): { readonly title: string; readonly text: string } | undefined {
  if (!/^[A-Z]\d{3}$/.test(code)) return undefined
  const file = join(findPackageRoot(), errorPageAddress(code))
  if (!existsSync(file)) return undefined
  const text = readFileSync(file, 'utf8')
  return { title: /^# \w+: (.+)$/m.exec(text)?.[1] ?? code, text }
}
