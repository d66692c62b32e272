import { posix } from 'node:path'
import t from 'tap'
import { buildSite, readLinks, VERSION } from '../fixtures/a-site.ts'
import { listRepositoryFiles } from '../fixtures/repository-texts.ts'

// These tests build the documentation site and check each page without a browser.
const site = buildSite(t)
const PAGES = new Map(
  site.pages.map((address) => [address, { html: site.read(address), ...readLinks(site.read(address)) }]),
)

/** Returns the address of a link, and its anchor. */
function resolve(from: string, target: string): readonly [string, string] {
  const [link = '', anchor = ''] = target.split('#')
  return [link === '' ? from : posix.join(posix.dirname(from), decodeURI(link)), decodeURIComponent(anchor)]
}

t.test(
  'every link of the site is relative, and has an existing page and an existing anchor as its target',
  async (t) => {
    let links = 0
    const broken: string[] = []
    for (const [page, { targets }] of PAGES)
      for (const target of targets.filter((one) => !/^https?:/.test(one))) {
        links += 1
        const [address, anchor] = resolve(page, target)
        const isFound =
          !target.startsWith('/') &&
          site.has(address) &&
          (anchor === '' || PAGES.get(address)?.ids.includes(anchor) === true)
        if (!isFound) broken.push(`${page}: ${target}`)
      }
    t.ok(links > 10_000, `${links} links`)
    t.same(broken, [])
  },
)

t.test('a link to a page has a title as its text, not the name of a file', async (t) => {
  const LINK = /<a href="([^"#]+)[^"]*">(?:<code>)?([^<]*\.md)(?:<\/code>)?<\/a>/g
  const named = [...PAGES].flatMap(([page, { html }]) =>
    [...html.matchAll(LINK)]
      .filter(([, target = '']) => !target.includes('files/'))
      .map(([link]) => `${page}: ${link}`),
  )
  t.same(named, [])
  t.match(
    site.read('request-path.html'),
    '<a href="tokens.html">How the gateway validates tokens</a> describes',
  )
})

t.test('no page loads anything from another origin', async (t) => {
  const outside = [...PAGES].flatMap(([page, { html }]) =>
    [...html.matchAll(/<(?:script|link|img|source|iframe)\b[^>]*>/g)]
      .filter(([tag]) => /(?:src|href)="(?:[a-z]+:|\/)/.test(tag))
      .map(([tag]) => `${page}: ${tag}`),
  )
  t.same(outside, [])
})

t.test('every page of docs/ is on the site, and links from the first page lead to every page', async (t) => {
  const sources = listRepositoryFiles('docs').filter((path) => path.endsWith('.md'))
  const missing = sources
    .map((path) =>
      path
        .replace(/^docs\//, '')
        .replace('README.md', 'index.md')
        .replace(/\.md$/, '.html'),
    )
    .filter((address) => !PAGES.has(address))
  t.same(missing, [])
  const reached = new Set(['index.html'])
  for (const page of reached)
    for (const target of PAGES.get(page)?.targets ?? []) {
      const [address] = resolve(page, target)
      if (PAGES.has(address)) reached.add(address)
    }
  t.same(
    site.pages.filter((page) => !reached.has(page)),
    [],
  )
})

t.test('the navigation of each page marks exactly this page', async (t) => {
  const faults = [...PAGES].flatMap(([page, { html }]) => {
    const marked = [...html.matchAll(/<a href="([^"]*)" aria-current="page">/g)]
    const found = marked.map(([, link = '']) => resolve(page, link)[0]).join()
    const expected = page.startsWith('files/') || page === 'index.html' ? '' : page
    return found === expected ? [] : [`${page}: ${found}`]
  })
  t.same(faults, [])
})

t.test('each page has one title, one main heading, unique anchors and its policy', async (t) => {
  const faults = [...PAGES].flatMap(([page, { html, ids }]) => [
    ...([...html.matchAll(/<h1\b/g)].length === 1 ? [] : [`${page}: headings`]),
    ...(/<html lang="en">[\s\S]*<title>[^<]+ · [^<]+<\/title>/.test(html) ? [] : [`${page}: title`]),
    ...(html.includes(`<option selected>${VERSION}</option>`) ? [] : [`${page}: version`]),
    ...(html.includes(`content="default-src 'none'; script-src 'self'; style-src 'self'; `)
      ? []
      : [`${page}: policy`]),
    ...(/<script>|<style|\bstyle="|&lt;!--/.test(html) ? [`${page}: inline script, style or comment`] : []),
    ...(new Set(ids).size === ids.length ? [] : [`${page}: anchors`]),
  ])
  t.same(faults, [])
})
