import type { SingletonFamily } from './family.ts'
import { currency, email, list, optional, prose, text } from './fields.ts'

export const school: SingletonFamily = {
  kind: 'singleton',
  name: 'school',
  about: 'The school itself.',
  owner: 'school',
  fields: {
    name: text(80),
    tagline: text(160),
    description: prose(4000),
    contact_email: email(),
    time_zone: { ...text(60), pattern: '^[A-Za-z]+(/[A-Za-z_]+)*$', examples: ['Europe/Berlin'] },
    default_currency: currency(),
    languages: list({ type: 'string', pattern: '^[a-z]{2}$' }, 10),
    tax_number: optional(text(40)),
  },
  initial: () => ({
    name: 'Kiln & Compass',
    tagline: 'Practical courses for people who make things',
    description:
      'Clay, wood, film and code, taught in small steps by people who do it for a living. Every course ends in something that you can hold, hear or run.',
    contact_email: 'office@kiln-and-compass.example',
    time_zone: 'Europe/Berlin',
    default_currency: 'EUR',
    languages: ['en', 'de'],
    tax_number: 'XX000000000',
  }),
  publicView: { fields: ['name', 'tagline', 'description', 'default_currency', 'languages'] },
}
