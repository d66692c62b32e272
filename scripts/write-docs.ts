// Writes the generated parts of the pages in docs/. Usage: npm run docs
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { findPackageRoot } from '../platform/process/package-root.ts'
import { generatedPages, renderPage } from './generated-docs.ts'

for (const page of generatedPages()) {
  const { is, shouldBe } = renderPage(page)
  if (is !== shouldBe) writeFileSync(join(findPackageRoot(), page.file), shouldBe)
  console.log(`${page.file}: ${is === shouldBe ? 'up to date' : 'written'}`)
}
