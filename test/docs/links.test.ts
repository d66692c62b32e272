import { posix } from 'node:path'
import t from 'tap'
import { listRepositoryFiles, readRepositoryFile, withoutFencedCode } from '../fixtures/repository-texts.ts'

// These tests check that the file and heading of each relative link exist. They also check that the indexes list every
// page.
const FILES = new Set(listRepositoryFiles())
const PAGES = [...FILES].filter((path) => /^(?:[A-Z]+\.md|docs\/.*\.md|\w+\/README\.md)$/.test(path))

/** Returns the anchors that GitHub derives from the headings of a page. A repeated heading gets a number. */
function anchorsOf(page: string): ReadonlySet<string> {
  const anchors = new Set<string>()
  for (const [, heading = ''] of withoutFencedCode(page).matchAll(/^#{1,6} (.+)$/gm)) {
    const text = heading.replace(/\[([^\]]*)\]\([^)]*\)/g, '$1').toLowerCase()
    const slug = text.replace(/[^\p{L}\p{N}_\- ]/gu, '').replaceAll(' ', '-')
    let anchor = slug
    for (let count = 1; anchors.has(anchor); count += 1) anchor = `${slug}-${count}`
    anchors.add(anchor)
  }
  return anchors
}

/** Returns the relative links of a page. `file` is the path of the target from the root of the repository. */
function linksOf(
  path: string,
): readonly { readonly link: string; readonly file: string; readonly anchor: string }[] {
  const text = withoutFencedCode(readRepositoryFile(path)).replace(/`[^`\n]*`/g, '')
  return [...text.matchAll(/\]\(([^()\s]+)\)/g)]
    .map(([, link = '']) => link)
    .filter((link) => !/^[a-z]+:/.test(link))
    .map((link) => {
      const [target = '', anchor = ''] = link.split('#')
      return { link, file: target === '' ? path : posix.join(posix.dirname(path), target), anchor }
    })
}

t.test('every relative link has an existing file and an existing heading as its target', async (t) => {
  const broken = PAGES.flatMap((path) =>
    linksOf(path)
      .filter(
        ({ file, anchor }) =>
          !FILES.has(file) || (anchor !== '' && !anchorsOf(readRepositoryFile(file)).has(anchor)),
      )
      .map(({ link }) => `${path}: ${link}`),
  )
  t.same(broken, [])
})

t.test('docs/README.md lists every page of docs/, and its folders list their own pages', async (t) => {
  const missing = PAGES.filter((path) => path.startsWith('docs/') && path !== 'docs/README.md').filter(
    (path) => {
      const index =
        posix.basename(path) === 'README.md' ? 'docs/README.md' : `${posix.dirname(path)}/README.md`
      return !linksOf(index).some(({ file }) => file === path)
    },
  )
  t.same(missing, [])
})

t.test('a page shows each picture of docs/images/', async (t) => {
  const pictures = [...FILES].filter((path) => path.startsWith('docs/images/'))
  const shown = new Set(PAGES.flatMap((path) => linksOf(path).map(({ file }) => file)))
  t.ok(pictures.length > 0)
  t.same(
    pictures.filter((path) => !shown.has(path)),
    [],
  )
})
