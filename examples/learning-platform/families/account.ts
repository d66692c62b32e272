import type { SingletonFamily } from './family.ts'
import { flag, group, list, optional, text } from './fields.ts'

/** The account of the caller, created on first access. The account also shows the identity that the gateway sent. */
export const account: SingletonFamily = {
  kind: 'singleton',
  name: 'account',
  about: "The account of the caller: settings, and the caller's identity from the gateway.",
  owner: 'subject',
  fields: {
    display_name: text(80),
    locale: { type: 'string', pattern: '^[a-z]{2}(-[A-Z]{2})?$' },
    time_zone: { ...text(60), pattern: '^[A-Za-z]+(/[A-Za-z_]+)*$' },
    notifications: group({ product_news: flag(false), weekly_summary: flag(true) }),
  },
  initial: (subject) => ({
    display_name:
      subject
        .replace(/[^\p{L}\p{N} ._-]/gu, ' ')
        .trim()
        .slice(0, 80) || 'Somebody',
    locale: 'en',
    time_zone: 'Europe/Berlin',
    notifications: { product_news: false, weekly_summary: true },
  }),
  caller: {
    fields: {
      subject: { type: 'string' },
      access: group({ client_id: optional({ type: 'string' }), scopes: list({ type: 'string' }, 1000) }),
    },
    from: ({ subject, clientId, scopes }) => ({ subject, access: { client_id: clientId ?? null, scopes } }),
  },
  publicView: { fields: [], constant: { subject: null } },
}
