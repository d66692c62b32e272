import { posix } from 'node:path'
import { INDEX, readSource, titleOf } from './sources.ts'

/** A page in the navigation. An index of a folder has the pages of this folder below it. */
export type Entry = { readonly path: string; readonly title: string; readonly below: readonly Entry[] }
export type Group = {
  readonly title: string
  readonly entries: readonly Entry[]
  readonly groups: readonly Group[]
}

const LINK = /\[([^\]]+)\]\(([^()#\s]+\.md)\)/g

/**
 * Returns the navigation. Its source is docs/README.md: each heading is a group, and each link in the first column of a
 * table is a page. A new page therefore needs only its row in docs/README.md, which test/docs/links.test.ts requires.
 */
export function readNavigation(): readonly Group[] {
  const sections = readSource(INDEX).split(/^(?=##+ )/m)
  const groups: Group[] = []
  for (const section of sections.slice(1)) {
    const [, marks = '', title = ''] = /^(##+) (.+)$/m.exec(section) ?? []
    const group = { title, entries: entriesOf(section), groups: [] }
    const parent = marks === '##' ? undefined : groups.pop()
    groups.push(parent === undefined ? group : { ...parent, groups: [...parent.groups, group] })
  }
  return groups.filter((group) => group.entries.length > 0 || group.groups.length > 0)
}

function entriesOf(section: string): readonly Entry[] {
  return [...section.matchAll(/^\| \[([^\]]+)\]\(([^()#\s]+\.md)\)/gm)].map(([, title = '', link = '']) => {
    const path = posix.join(posix.dirname(INDEX), link)
    const isIndex = /^docs\/.+\/README\.md$/.test(path)
    return { path, title, below: isIndex ? pagesBelow(path) : [] }
  })
}

/** Returns the pages to which the index of a folder links, in the order of the index. */
function pagesBelow(index: string): readonly Entry[] {
  const links = [...readSource(index).matchAll(LINK)].map(([, , link = '']) => link)
  const names = new Set(links.filter((link) => !link.includes('/') && link !== 'README.md'))
  return [...names].map((name) => {
    const path = posix.join(posix.dirname(index), name)
    return { path, title: titleOf(readSource(path)), below: [] }
  })
}
