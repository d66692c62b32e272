import fc from 'fast-check'
import t from 'tap'
import { formatCursor, parseCursor } from '../../../../examples/learning-platform/http/page-cursor.ts'

t.test('parseCursor() reads only cursors that formatCursor() wrote for the same family', async (t) => {
  const encode = (text: string) => Buffer.from(text).toString('base64url')
  for (const cursor of [
    '',
    'x',
    encode('courses:'),
    encode('courses:-1'),
    encode('courses:01'),
    encode('courses:1 '),
    encode('posts:1'),
    `${encode('courses:12')}=`,
  ])
    t.equal(parseCursor('courses', cursor), undefined, cursor)
  fc.assert(
    fc.property(fc.string(), (cursor) => {
      const after = parseCursor('courses', cursor)
      return after === undefined || formatCursor('courses', after) === cursor
    }),
  )
})

t.test('parseCursor() returns the input of formatCursor()', async () => {
  fc.assert(
    fc.property(
      fc.nat(),
      (after) => parseCursor('digital_products', formatCursor('digital_products', after)) === after,
    ),
  )
})
