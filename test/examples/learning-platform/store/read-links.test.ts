import t from 'tap'
import {
  group,
  list,
  optional,
  reference,
  references,
} from '../../../../examples/learning-platform/families/fields.ts'
import { readLinks } from '../../../../examples/learning-platform/store/read-links.ts'

t.test('readLinks() finds references at any depth, and names the field of each reference', async (t) => {
  const schema = group({
    course_id: reference('courses'),
    form_id: optional(reference('forms')),
    lessons: list(group({ material_ids: references('storage', 5) }), 5),
  })
  const value = {
    course_id: 'crs_0001',
    form_id: null,
    lessons: [{ material_ids: [] }, { material_ids: ['file_0002'] }],
  }
  t.same(readLinks(schema, value), [
    { field: 'course_id', target: 'courses', id: 'crs_0001' },
    { field: 'lessons.1.material_ids.0', target: 'storage', id: 'file_0002' },
  ])
})

t.test('readLinks() returns no links for a value of another type', async (t) => {
  const schema = group({ course_ids: references('courses', 5) })
  for (const value of [undefined, null, 1, 'x', [], { course_ids: 'crs_0001' }])
    t.same(readLinks(schema, value), [])
})
