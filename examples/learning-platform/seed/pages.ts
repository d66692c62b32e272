import type { Document } from '../families/json-schema.ts'

export const seedPages: readonly Document[] = [
  page('About', 'about', 'A workshop that became a school.', null),
  page('How it works', 'how-it-works', 'Small steps, real materials, and feedback on your work.', null),
  page('Contact', 'contact', 'Write to us; we like questions.', 'frm_0001'),
  page('Gallery', 'gallery', 'What students made this year.', 'frm_0002'),
  { ...page('Scholarships', 'scholarships', 'Places for those who cannot pay.', null), state: 'draft' },
]

function page(title: string, slug: string, summary: string, form_id: string | null): Document {
  return { title, slug, summary, body: `# ${title}\n\n${summary}`, form_id, state: 'published' }
}
