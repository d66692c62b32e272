import { createHash } from 'node:crypto'
import type { CollectionFamily } from './family.ts'
import { choice, text, wholeNumber } from './fields.ts'

/** Small files with their content. Anonymous callers can read files with `visibility: public`. */
export const storage: CollectionFamily = {
  kind: 'collection',
  name: 'storage',
  singular: 'file',
  plural: 'files',
  about: 'Small files with their content: course material, downloads, the logo.',
  idPrefix: 'file',
  writable: true,
  fields: {
    path: {
      type: 'string',
      maxLength: 200,
      pattern: '^[a-z0-9][a-z0-9._-]*(/[a-z0-9][a-z0-9._-]*)*$',
      examples: ['materials/kiln-log.csv'],
    },
    title: text(120),
    media_type: { type: 'string', maxLength: 100, pattern: '^[a-z]+/[a-z0-9][a-z0-9.+-]*$' },
    visibility: choice('public', 'private'),
    content: {
      type: 'string',
      maxLength: 43_692, // 32 KiB in base64: a page of 100 files is smaller than 5 MiB
      pattern: '^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$',
      description: 'Base64, at most 32 KiB decoded.',
    },
  },
  derived: {
    fields: {
      size_bytes: wholeNumber(0, 32_768),
      sha256: { type: 'string', pattern: '^[0-9a-f]{64}$' },
    },
    from: (object) => {
      const bytes = Buffer.from(String(object['content']), 'base64')
      return { size_bytes: bytes.length, sha256: createHash('sha256').update(bytes).digest('hex') }
    },
  },
  unique: ['path'],
  filters: ['visibility', 'path'],
  publicView: {
    where: `storage.body ->> '$.visibility' = 'public'`,
    fields: ['path', 'title', 'media_type', 'visibility', 'content', 'size_bytes', 'sha256'],
  },
}
