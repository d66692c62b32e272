import { readFile, stat } from 'node:fs/promises'
import { BootError } from '../../platform/diagnostics/boot-error.ts'
import { errorCode } from '../../platform/diagnostics/error-code.ts'
import { createLook, type Look, type LookColors, type LookLinks } from './look.ts'

/** The setting `look`. Paths are absolute. */
export type LookConfig = {
  readonly logo: string | undefined
  readonly css: string | undefined
  readonly colors: LookColors
  readonly links: LookLinks
}

/** The size of the logo and the CSS is limited, because each page contains these files. */
const MAX_LOGO_BYTES = 65_536
const MAX_CSS_BYTES = 32_768

/**
 * Reads the files of the look.
 * @throws {BootError} ERR_LOOK_FILE when a file is not readable, too large, or has content that is not allowed.
 */
export async function loadLook({ logo, css, colors, links }: LookConfig): Promise<Look> {
  return createLook({
    colors,
    links,
    logo: logo === undefined ? undefined : await readLogo(logo),
    css: css === undefined ? undefined : await readCss(css),
  })
}

async function readLogo(file: string): Promise<string> {
  const content = await readBounded(file, 'look.logo', MAX_LOGO_BYTES)
  if (content.subarray(0, PNG_SIGNATURE.length).equals(PNG_SIGNATURE)) return dataUrl('image/png', content)
  const text = decodeUtf8(content)
  if (text === undefined || !/^\s*(?:<\?xml[^>]*\?>\s*)?(?:<!--[^>]*-->\s*)*<svg[\s>]/.test(text))
    throw invalid(file, 'look.logo', 'is not a PNG or SVG image', 'save the image as PNG or SVG')
  const found = ACTIVE_SVG.exec(text)
  if (found !== null)
    throw invalid(
      file,
      'look.logo',
      `contains ${JSON.stringify(found[0])}`,
      'use an SVG without scripts, event attributes, animations, a document type and references to other files',
    )
  return dataUrl('image/svg+xml', content)
}

const PNG_SIGNATURE = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a])

/**
 * Matches parts of an SVG that can run a script or load a resource. A browser ignores these parts in an `img` element,
 * so this check is an addition. References inside the image, such as `href="#a"`, are allowed.
 */
const ACTIVE_SVG =
  /<\s*(?:[\w-]+:)?(?:script|foreignObject|iframe|handler|set|animate\w*)\b|<!(?:DOCTYPE|ENTITY)|\son\w+\s*=|javascript:|@import|url\(\s*["']?(?!\s*#)|\bhref\s*=\s*["']?(?!["']?\s*(?:#|data:image\/(?:png|jpeg);))/i

async function readCss(file: string): Promise<string> {
  const text = decodeUtf8(await readBounded(file, 'look.css', MAX_CSS_BYTES))
  if (text === undefined) throw invalid(file, 'look.css', 'is not UTF-8 text', 'save the file as UTF-8')
  const found = EXTERNAL_CSS.exec(text)
  if (found !== null)
    throw invalid(
      file,
      'look.css',
      `contains ${JSON.stringify(found[0])}`,
      'remove this text: the file must not load other files and must not contain < or \\',
    )
  return text
}

/**
 * Matches CSS that loads a resource, and the character that ends the `style` element. A backslash could hide such CSS.
 * The content security policy also forbids all resources.
 */
const EXTERNAL_CSS = /[<\\\0]|@import|@charset|@namespace|(?:url|src|image|image-set|-webkit-image-set)\(/i

async function readBounded(file: string, setting: string, maxBytes: number): Promise<Buffer> {
  try {
    const { size } = await stat(file)
    if (size > maxBytes)
      throw invalid(file, setting, `has ${size} bytes`, `use a file of at most ${maxBytes / 1024} KiB`)
    return await readFile(file)
  } catch (cause) {
    if (cause instanceof BootError) throw cause
    throw new BootError(
      'ERR_LOOK_FILE',
      `Cannot read ${file} (${setting}): ${errorCode(cause)}. Check that the file exists and that this user may read it.`,
      { cause, exitCode: 3 },
    )
  }
}

function decodeUtf8(content: Buffer): string | undefined {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(content)
  } catch {
    return undefined
  }
}

function dataUrl(type: string, content: Buffer): string {
  return `data:${type};base64,${content.toString('base64')}`
}

function invalid(file: string, setting: string, problem: string, remedy: string): BootError {
  return new BootError('ERR_LOOK_FILE', `${file} (${setting}): the file ${problem}. Remedy: ${remedy}.`, {
    exitCode: 3,
  })
}
