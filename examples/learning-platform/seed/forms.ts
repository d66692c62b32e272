import type { Document } from '../families/json-schema.ts'

export const seedForms: readonly Document[] = [
  form('Write to us', 'write-to-us', 'We answer within two working days.', 'open', [
    question('name', 'Your name', 'line', true),
    question('reply-to', 'Where we may answer', 'email', true),
    question('message', 'Subject', 'paragraph', true),
  ]),
  form('Show your work', 'show-your-work', 'A photo says more, but words are welcome.', 'open', [
    question('course', 'Which course', 'choice', true, ['Pottery', 'Joinery', 'Film', 'Code', 'Bookbinding']),
    question('made-on', 'When did you make it', 'date', false),
    question('story', 'What happened', 'paragraph', false),
  ]),
  form('Opening week raffle', 'opening-week-raffle', 'It is over. Thank you.', 'closed', [
    question('name', 'Your name', 'line', true),
  ]),
]

function form(
  title: string,
  slug: string,
  introduction: string,
  state: 'open' | 'closed',
  questions: readonly Document[],
): Document {
  return { title, slug, introduction, questions, notify_email: 'office@kiln-and-compass.example', state }
}

function question(
  name: string,
  label: string,
  kind: string,
  required: boolean,
  choices: readonly string[] = [],
): Document {
  return { name, label, kind, required, choices }
}
