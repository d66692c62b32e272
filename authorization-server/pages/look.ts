import { hash } from 'node:crypto'
import { PAGE_STYLE } from './page-style.ts'

export type Look = {
  readonly style: string
  /** CSP source that allows the stylesheet by its hash. CSP Level 3 section 8.4. */
  readonly styleSource: string
  /** The logo as a `data:` URL. */
  readonly logo: string | undefined
  readonly links: LookLinks
}

/** URLs of pages of the operator. */
export type LookLinks = {
  readonly help?: string | undefined
  readonly terms?: string | undefined
  readonly privacy?: string | undefined
}

/** Colors of one color scheme, in the form `#rrggbb`. */
export type SchemeColors = {
  readonly accent?: string | undefined
  readonly background?: string | undefined
  readonly text?: string | undefined
}

export type LookColors = { readonly light?: SchemeColors; readonly dark?: SchemeColors }

/** Creates the look. Without options, the pages have the look of {@link PAGE_STYLE}. */
export function createLook(
  options: {
    readonly colors?: LookColors
    /** CSS of the operator. `loadLook()` has checked this CSS. */
    readonly css?: string | undefined
    readonly logo?: string | undefined
    readonly links?: LookLinks
  } = {},
): Look {
  const { colors = {}, css = '', links = {}, logo } = options
  const style = PAGE_STYLE + colorRules(colors) + css
  return { style, styleSource: `'sha256-${hash('sha256', style, 'base64')}'`, logo, links }
}

function colorRules({ light, dark }: LookColors): string {
  const lightRule = schemeRule(light)
  const darkRule = schemeRule(dark)
  return `${lightRule === '' ? '' : `@media (prefers-color-scheme: light) { ${lightRule} }\n`}${darkRule === '' ? '' : `@media (prefers-color-scheme: dark) { ${darkRule} }\n`}`
}

function schemeRule({ accent, background, text }: SchemeColors = {}): string {
  const properties = [
    ...(background === undefined ? [] : [`--ground: ${background}`, `--card: ${background}`]),
    // The contrast check covers only these colors, so quiet text has the color of other text.
    ...(text === undefined && background === undefined
      ? []
      : ['--quiet: var(--text)', '--line: color-mix(in srgb, var(--text) 30%, var(--card))']),
    ...(text === undefined ? [] : [`--text: ${text}`]),
    ...(accent === undefined
      ? []
      : [`--accent: ${accent}`, `--accent-over: ${accent}`, `--on-accent: ${readableOn(accent)}`]),
  ]
  return properties.length === 0 ? '' : `:root { ${properties.join('; ')}; }`
}

/** Returns black or white. At least one of these two colors has a contrast of 4.58:1 or more to any color. */
function readableOn(color: string): string {
  return contrast(color, '#000000') >= contrast(color, '#ffffff') ? '#000000' : '#ffffff'
}

/** Minimum contrast of text. WCAG 2.2 section 1.4.3. */
const MIN_CONTRAST = 4.5

/**
 * The default colors of {@link PAGE_STYLE}. `background` is the color of the card, because the card contains most of
 * the text.
 */
const DEFAULT_COLORS = {
  light: { accent: '#2450c8', background: '#ffffff', text: '#1b1f27' },
  dark: { accent: '#9db8ff', background: '#1b2029', text: '#eceff4' },
} as const

/** Finds colors without sufficient contrast. Returns one text for each pair of colors. */
export function findLowContrast(colors: LookColors): readonly string[] {
  return (['light', 'dark'] as const).flatMap((scheme) => {
    const { accent, background, text } = { ...colors[scheme] }
    const defaults = DEFAULT_COLORS[scheme]
    const chosen = {
      accent: accent ?? defaults.accent,
      background: background ?? defaults.background,
      text: text ?? defaults.text,
    }
    return (['text', 'accent'] as const).flatMap((name) => {
      const ratio = contrast(chosen[name], chosen.background)
      if (ratio >= MIN_CONTRAST) return []
      const shown = (Math.floor(ratio * 100) / 100).toFixed(2)
      return [
        `look.colors.${scheme}.${name} ${chosen[name]} on background ${chosen.background} has a contrast of ${shown}:1, which is below 4.5:1`,
      ]
    })
  })
}

/** Returns the contrast ratio of two colors. WCAG 2.2, "contrast ratio". */
function contrast(one: string, other: string): number {
  const [light = 0, dark = 0] = [luminance(one), luminance(other)].sort((a, b) => b - a)
  return (light + 0.05) / (dark + 0.05)
}

/** Returns the relative luminance of a color. WCAG 2.2, "relative luminance". */
function luminance(color: string): number {
  const [red = 0, green = 0, blue = 0] = [1, 3, 5].map((at) => {
    const value = Number.parseInt(color.slice(at, at + 2), 16) / 255
    return value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4
  })
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue
}
