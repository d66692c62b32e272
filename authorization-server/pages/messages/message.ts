import { type Html, html } from '../../../platform/pages/html.ts'
import { DE } from './de.ts'
import { EN, type MessageKey, type Texts } from './en.ts'

/**
 * The languages of the pages, as primary language subtags. RFC 5646 section 2.2.1. The first language is the default.
 */
export const LOCALES = ['en', 'de'] as const

export type Locale = (typeof LOCALES)[number]

const TEXTS: Readonly<Record<Locale, Texts>> = { en: EN, de: DE }

/** The names of the values in a text. */
type ValueName<Text extends string> = Text extends `${string}{${infer Name}}${infer Rest}`
  ? Name | ValueName<Rest>
  : never

type Values<Key extends MessageKey> = [ValueName<(typeof EN)[Key]>] extends [never]
  ? []
  : [values: Readonly<Record<ValueName<(typeof EN)[Key]>, Html | string | number>>]

/** Returns a text in a language. Escapes the values, except markup. */
export function message<Key extends MessageKey>(locale: Locale, key: Key, ...[values]: Values<Key>): Html {
  // Each second part is the name of a value.
  const parts = TEXTS[locale][key].split(/\{(\w+)\}/)
  const given: Readonly<Record<string, Html | string | number>> = values ?? {}
  return html`${parts.map((part, index) => (index % 2 === 0 ? part : (given[part] ?? '')))}`
}

/** Returns whether a text with this key exists. */
export function isMessageKey(key: string): key is MessageKey {
  return Object.hasOwn(EN, key)
}

/** Maximum number of languages that the server reads from a request. */
const MAX_RANGES = 20

/**
 * Selects the language of a page: the first supported language of `ui_locales`, then the best supported language of
 * `Accept-Language`, then English. A range such as `de-AT` matches its language. Sources: OpenID Connect Core section
 * 3.1.2.1, RFC 9110 section 12.5.4, RFC 4647 section 3.4.
 */
export function selectLocale(request: {
  readonly uiLocales: string | undefined
  readonly acceptLanguage: string | undefined
}): Locale {
  const wanted = (request.uiLocales ?? '').split(' ', MAX_RANGES)
  const accepted = (request.acceptLanguage ?? '')
    .split(',', MAX_RANGES)
    .map(readRange)
    .filter(({ quality }) => quality > 0)
    .toSorted((a, b) => b.quality - a.quality)
    .map(({ range }) => range)
  for (const range of [...wanted, ...accepted]) {
    const language = range.split('-', 1)[0]?.toLowerCase()
    const locale = LOCALES.find((one) => one === language)
    if (locale !== undefined) return locale
  }
  return LOCALES[0]
}

function readRange(text: string): { readonly range: string; readonly quality: number } {
  const [range = '', weight] = text.trim().split(/\s*;\s*q=/i)
  const quality = weight === undefined ? 1 : Number(weight)
  return { range, quality: Number.isNaN(quality) ? 0 : quality }
}

/** Returns a duration in its largest whole unit, for example `90 days`. */
export function formatDuration(locale: Locale, seconds: number): string {
  const [unit, size] =
    UNITS.find(([, unitSeconds]) => seconds % unitSeconds === 0) ?? (['second', 1] as const)
  return new Intl.NumberFormat(locale, { style: 'unit', unit, unitDisplay: 'long' }).format(seconds / size)
}

const UNITS = [
  ['day', 86_400],
  ['hour', 3_600],
  ['minute', 60],
] as const
