import type { SingletonFamily } from './family.ts'
import { choice, colour, group, list, optional, reference, text } from './fields.ts'

export const appearance: SingletonFamily = {
  kind: 'singleton',
  name: 'appearance',
  about: "Appearance of the school's site.",
  owner: 'school',
  fields: {
    theme: choice('light', 'dark', 'system'),
    primary_colour: colour(),
    accent_colour: colour(),
    typeface: choice('serif', 'sans', 'rounded'),
    logo_id: optional(reference('storage')),
    footer: text(300),
    navigation: list(group({ label: text(40), page_id: reference('pages') }), 12),
  },
  initial: () => ({
    theme: 'light',
    primary_colour: '#22577a',
    accent_colour: '#c8553d',
    typeface: 'serif',
    logo_id: 'file_0001',
    footer: 'Kiln & Compass. Made slowly.',
    navigation: [
      { label: 'About', page_id: 'pag_0001' },
      { label: 'How it works', page_id: 'pag_0002' },
      { label: 'Contact', page_id: 'pag_0003' },
    ],
  }),
  publicView: {
    fields: ['theme', 'primary_colour', 'accent_colour', 'typeface', 'logo_id', 'footer', 'navigation'],
  },
}
