const FIRST_NAMES =
  'Ada Bruno Carla Dmitri Elif Farid Greta Hanne Ivo Jana Kofi Lena Milo Nadia Oskar Priya Quinn Rosa Sami Tove Uma Viktor Wanda Yusuf'.split(
    ' ',
  )

const INITIALS = 'BDFHKLMNPRSTVWZ'

/** An invented person. The name is a first name and an initial. The address has a reserved domain (RFC 2606). */
export type Person = { readonly name: string; readonly email: string }

/** Numbers below 360 give different people. */
export function person(number: number): Person {
  const first = FIRST_NAMES[number % FIRST_NAMES.length] ?? 'Ada'
  const initial = INITIALS.charAt((number * 7 + Math.floor(number / FIRST_NAMES.length)) % INITIALS.length)
  return {
    name: `${first} ${initial}.`,
    email: `${first}.${initial}${number + 1}@learners.example`.toLowerCase(),
  }
}

/** Returns the date that is `days` days after `start`, in the format `2026-03-01`. */
export function dayAfter(start: string, days: number): string {
  return new Date(Date.parse(`${start}T00:00:00Z`) + days * 86_400_000).toISOString().slice(0, 10)
}

/** For example, `id('crs', 1)` is crs_0001. */
export function id(prefix: string, number: number): string {
  return `${prefix}_${String(number).padStart(4, '0')}`
}
