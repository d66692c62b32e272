import { hash } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { type LookConfig, loadLook } from '../../../authorization-server/pages/load-look.ts'
import { createLook, findLowContrast } from '../../../authorization-server/pages/look.ts'
import { pageHeaders } from '../../../authorization-server/pages/page-reply.ts'
import { PAGE_STYLE } from '../../../authorization-server/pages/page-style.ts'
import { renderPage } from '../../../authorization-server/pages/render-page.ts'
import { html } from '../../../platform/pages/html.ts'

const SVG = '<svg xmlns="http://www.w3.org/2000/svg"><path id="a"/><use href="#a"/></svg>'
const PNG = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 1, 2, 3])

/** Loads a look with one file. Returns the error message if the server rejects the file. */
async function load(t: Test, setting: 'logo' | 'css', content: string | Buffer) {
  const file = join(t.testdir(), 'file')
  writeFileSync(file, content)
  const config: LookConfig = { logo: undefined, css: undefined, colors: {}, links: {}, [setting]: file }
  return loadLook(config).catch((error: { code?: string; exitCode?: number; message: string }) => {
    t.equal(error.code, 'ERR_LOOK_FILE')
    t.equal(error.exitCode, 3)
    return error.message.replace(file, 'FILE')
  })
}

t.test('loadLook() accepts PNG and SVG logos, and rejects active or large files', async (t) => {
  for (const [content, type] of [
    [PNG, 'image/png'],
    [SVG, 'image/svg+xml'],
    [`<?xml version="1.0"?>\n<!-- logo -->\n${SVG}`, 'image/svg+xml'],
    [SVG.replace('"#a"', '"data:image/png;base64,AAAA"'), 'image/svg+xml'],
    [SVG.replace('<path', '<path fill="url(#a)"'), 'image/svg+xml'],
  ] as const) {
    const look = await load(t, 'logo', content)
    const expected = `data:${type};base64,${Buffer.from(content).toString('base64')}`
    t.equal(typeof look === 'string' ? look : look.logo, expected)
  }
  const bad = [
    '<script>alert(1)</script>',
    '<SCRIPT href="#a"/>',
    '<svg:script/>',
    '<path onload="alert(1)"/>',
    '<path\nONCLICK = "alert(1)"/>',
    '<foreignObject/>',
    '<a href="https://evil.example"/>',
    '<use xlink:href="https://evil.example#a"/>',
    "<image href='//evil.example/a.png'/>",
    '<image href=https://evil.example/a.png />',
    '<image href="data:image/svg+xml;base64,AAAA"/>',
    '<a href="javascript:alert(1)"/>',
    '<style>@import "https://evil.example"</style>',
    '<path fill="url(https://evil.example#a)"/>',
    '<path fill="url( \'https://evil.example\')"/>',
    '<animate attributeName="href"/>',
    '<set attributeName="onclick"/>',
  ]
  for (const part of bad)
    t.match(await load(t, 'logo', `<svg>${part}</svg>`), /^FILE \(look\.logo\): the file contains /, part)
  t.match(await load(t, 'logo', `<!DOCTYPE svg [<!ENTITY x "y">]>${SVG}`), 'is not a PNG or SVG image')
  for (const content of ['', 'GIF89a', '<html><svg/></html>', Buffer.from([0xff, 0xfe])])
    t.equal(
      await load(t, 'logo', content),
      'FILE (look.logo): the file is not a PNG or SVG image. Remedy: save the image as PNG or SVG.',
    )
  t.equal(
    await load(t, 'logo', Buffer.concat([PNG, Buffer.alloc(65_536)])),
    'FILE (look.logo): the file has 65547 bytes. Remedy: use a file of at most 64 KiB.',
  )
})

t.test('loadLook() accepts CSS that loads nothing, and rejects all other CSS', async (t) => {
  const css = 'main { border-width: 2px; }\n/* ✓ */\n@media (width > 40rem) { h1 { color: red; } }\n'
  const look = await load(t, 'css', css)
  t.equal(typeof look === 'string' ? look : look.style, PAGE_STYLE + css)
  for (const part of [
    'url(https://evil.example)',
    'URL("a")',
    '@import "a"',
    '@IMPORT url',
    'image-set("a" 1x)',
    'src("a")',
    'u\\72l(a)',
    '</style><script>',
    '\0',
  ])
    t.match(
      await load(t, 'css', `a { b: ${part} }`),
      /^FILE \(look\.css\): the file contains ".+"\. Remedy: /,
      part,
    )
  t.match(await load(t, 'css', Buffer.from([0xff, 0xfe])), 'is not UTF-8 text')
  t.match(await load(t, 'css', ' '.repeat(32_769)), 'has 32769 bytes. Remedy: use a file of at most 32 KiB')
})

t.test('loadLook() names the setting of a missing file', async (t) => {
  const config = { css: undefined, colors: {}, links: {}, logo: '/nowhere/logo.svg' }
  await t.rejects(loadLook(config), {
    code: 'ERR_LOOK_FILE',
    message:
      'Cannot read /nowhere/logo.svg (look.logo): ENOENT. Check that the file exists and that this user may read it.',
  })
})

t.test('a page has the logo, the links and the style of its look, and its policy allows them', async (t) => {
  const look = createLook({
    colors: {
      light: { accent: '#006000', background: '#ffffff' },
      dark: { accent: '#ffff00', text: '#ffffff' },
    },
    css: 'h1 { font-weight: 400; }',
    logo: 'data:image/png;base64,AAAA',
    links: { help: 'https://a.test/help?a=1&b=2', privacy: 'https://a.test/privacy' },
  })
  const page = { title: 'T', serviceName: 'S', locale: 'de', body: html``, look } as const
  const markup = renderPage({ ...page, requestId: 'id' })
  const [, style = ''] = /<style>([\s\S]*?)<\/style>/.exec(markup) ?? []
  const policy = String(pageHeaders([], 'de', look)['content-security-policy'])
  t.match(policy, `style-src 'sha256-${hash('sha256', style, 'base64')}'; img-src data:;`)
  t.match(markup, '<p class="service"><img src="data:image/png;base64,AAAA" alt="">S</p>')
  t.match(
    markup,
    '<footer><p><a href="https://a.test/help?a=1&#38;b=2">Hilfe</a> <a href="https://a.test/privacy">Datenschutz</a> </p>Anfrage id</footer>',
  )
  t.notMatch(renderPage({ ...page, look: createLook(), requestId: undefined }), '<footer>')
  t.equal(
    style.slice(PAGE_STYLE.length),
    `@media (prefers-color-scheme: light) { :root { --ground: #ffffff; --card: #ffffff; --quiet: var(--text); --line: color-mix(in srgb, var(--text) 30%, var(--card)); --accent: #006000; --accent-over: #006000; --on-accent: #ffffff; } }
@media (prefers-color-scheme: dark) { :root { --quiet: var(--text); --line: color-mix(in srgb, var(--text) 30%, var(--card)); --text: #ffffff; --accent: #ffff00; --accent-over: #ffff00; --on-accent: #000000; } }
h1 { font-weight: 400; }`,
  )
})

t.test('findLowContrast() compares each color with the background of its scheme', async (t) => {
  t.strictSame(findLowContrast({}), [])
  t.strictSame(findLowContrast({ light: { text: '#767676' } }), [], '4.54:1')
  t.equal(findLowContrast({ light: { text: '#777777' } }).length, 1, '4.47:1')
  t.equal(findLowContrast({ light: { background: '#000000' } }).length, 2)
})
