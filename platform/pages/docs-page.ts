import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { findPackageRoot } from '../process/package-root.ts'
import type { ConsolePage } from './console-page.ts'
import { type Html, html } from './html.ts'

/** Runbooks, pages of diagnostic codes, and other pages of the documentation. Contains no path to another folder. */
const NAME = /^(?:(?:runbooks|errors)\/)?[A-Za-z0-9-]+\.md$/

type DocsData = { readonly name: string; readonly title: string; readonly text: string }

/** A page of the documentation of this version. An image without documentation has no such pages. */
export function docsPage(): ConsolePage<DocsData> {
  return {
    path: '/console/docs',
    title: 'Documentation',
    parent: '/',
    isStatic: true,
    heading: ({ title }) => title,
    async data(query) {
      const name = query.get('name') ?? ''
      if (!NAME.test(name)) return undefined
      const text = await readFile(fileOf(name), 'utf8').catch(() => undefined)
      return text === undefined ? undefined : { name, title: /^# (.+)$/m.exec(text)?.[1] ?? name, text }
    },
    render: ({ name, text }) =>
      html`<p class="quiet-text">docs/${name} of this version</p><pre>${text.replace(/^# .*\n+/, '')}</pre>`,
  }
}

function fileOf(name: string): string {
  return join(findPackageRoot(), 'docs', name)
}

/** Returns a link to a page of the documentation, or its path if this installation lacks the page. */
export function docLink(name: string): Html {
  const path = `docs/${name}`
  return existsSync(fileOf(name))
    ? html`<a href="/console/docs?${new URLSearchParams({ name }).toString()}">${path}</a>`
    : html`<code>${path}</code>`
}
